package mtloop.client;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the fields of a response. Throws Unreachable if a field is missing or has another type. */
final class ResponseFields {
    private ResponseFields() {}

    static Map<String, Object> object(Object value) throws Unreachable {
        if (!(value instanceof Map<?, ?> map)) {
            throw invalid("an object");
        }
        Map<String, Object> object = new LinkedHashMap<>();
        map.forEach((name, item) -> object.put((String) name, item));
        return object;
    }

    static List<?> list(Map<String, Object> response, String name) throws Unreachable {
        if (response.get(name) instanceof List<?> list) {
            return list;
        }
        throw invalid("a list " + name);
    }

    static String text(Map<String, Object> response, String name) throws Unreachable {
        if (response.get(name) instanceof String text) {
            return text;
        }
        throw invalid("a text " + name);
    }

    static double number(Map<String, Object> response, String name) throws Unreachable {
        if (response.get(name) instanceof Number number) {
            return number.doubleValue();
        }
        throw invalid("a number " + name);
    }

    private static Unreachable invalid(String expected) {
        return new Unreachable("not a response of an mtloop service: expected " + expected, null);
    }
}
