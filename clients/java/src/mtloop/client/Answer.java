package mtloop.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the fields of a response. Throws Unreachable if a field is missing or has another type. */
final class Answer {
    private Answer() {}

    static Map<String, Object> object(Object value) throws Unreachable {
        if (!(value instanceof Map<?, ?> map)) {
            throw wrong("an object");
        }
        Map<String, Object> object = new LinkedHashMap<>();
        map.forEach((name, item) -> object.put((String) name, item));
        return object;
    }

    static List<?> list(Map<String, Object> answer, String name) throws Unreachable {
        if (answer.get(name) instanceof List<?> list) {
            return list;
        }
        throw wrong("a list " + name);
    }

    static String text(Map<String, Object> answer, String name) throws Unreachable {
        if (answer.get(name) instanceof String text) {
            return text;
        }
        throw wrong("a text " + name);
    }

    static double number(Map<String, Object> answer, String name) throws Unreachable {
        if (answer.get(name) instanceof Number number) {
            return number.doubleValue();
        }
        throw wrong("a number " + name);
    }

    private static Unreachable wrong(String expected) {
        return new Unreachable("not an answer of an mtloop service: expected " + expected, null);
    }
}
