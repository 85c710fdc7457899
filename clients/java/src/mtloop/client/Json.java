package mtloop.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict JSON parser and writer. Objects are ordered maps, arrays are lists, integers of at most 18 digits are Long,
 * other numbers are Double, and null is null.
 */
public final class Json {
    private static final int MAX_DEPTH = 200;

    private final String text;
    private int position;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** Parses a JSON text. Throws IllegalArgumentException if it is not valid. */
    public static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.skipBlanks();
        if (json.position < text.length()) {
            throw json.invalid("the end");
        }
        return value;
    }

    /** Writes a value made of maps, lists, strings, numbers, booleans and null as JSON. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?> map) {
            String comma = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(comma);
                quote(String.valueOf(entry.getKey()), out);
                out.append(':');
                write(entry.getValue(), out);
                comma = ",";
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof List<?> list) {
            String comma = "[";
            for (Object item : list) {
                out.append(comma);
                write(item, out);
                comma = ",";
            }
            out.append(list.isEmpty() ? "[]" : "]");
        } else if (value instanceof CharSequence chars) {
            quote(chars.toString(), out);
        } else if (value instanceof Double number && !Double.isFinite(number)) {
            throw new IllegalArgumentException("JSON cannot represent " + number);
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            throw new IllegalArgumentException("JSON cannot represent a " + value.getClass().getName());
        }
    }

    private static void quote(String value, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value() {
        skipBlanks();
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                return word("true", true);
            case 'f':
                return word("false", false);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> object = new LinkedHashMap<>();
        enter();
        while (hasNext('}', object.isEmpty())) {
            skipBlanks();
            String name = string();
            skipBlanks();
            expect(':');
            object.put(name, value());
        }
        return object;
    }

    private List<Object> array() {
        List<Object> array = new ArrayList<>();
        enter();
        while (hasNext(']', array.isEmpty())) {
            array.add(value());
        }
        return array;
    }

    private void enter() {
        position++;
        if (++depth > MAX_DEPTH) {
            throw invalid("at most " + MAX_DEPTH + " levels");
        }
    }

    /** Returns whether another item follows. Skips the comma before it, or the closing character. */
    private boolean hasNext(char end, boolean first) {
        skipBlanks();
        if (peek() == end) {
            position++;
            depth--;
            return false;
        }
        if (!first) {
            expect(',');
        }
        return true;
    }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        while (true) {
            char c = next();
            if (c == '"') {
                return out.toString();
            }
            if (c < 0x20) {
                throw invalid("no control character");
            }
            out.append(c == '\\' ? escaped() : c);
        }
    }

    private char escaped() {
        char c = next();
        switch (c) {
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                return (char) (hex() << 12 | hex() << 8 | hex() << 4 | hex());
            case '"', '\\', '/':
                return c;
            default:
                throw invalid("a valid escape sequence");
        }
    }

    private int hex() {
        char c = next();
        int digit = c < 0x80 ? Character.digit(c, 16) : -1;
        if (digit < 0) {
            throw invalid("a hexadecimal digit");
        }
        return digit;
    }

    private Object number() {
        int start = position;
        while (position < text.length() && "+-.eE0123456789".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
        String digits = text.substring(start, position);
        if (!digits.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?")) {
            position = start;
            throw invalid("a value");
        }
        if (digits.matches("-?[0-9]{1,18}")) {
            return Long.valueOf(digits);
        }
        return Double.valueOf(digits);
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, position)) {
            throw invalid(word);
        }
        position += word.length();
        return value;
    }

    private void skipBlanks() {
        while (position < text.length() && " \t\r\n".indexOf(text.charAt(position)) >= 0) {
            position++;
        }
    }

    private char peek() {
        if (position >= text.length()) {
            throw invalid("more characters");
        }
        return text.charAt(position);
    }

    private char next() {
        char c = peek();
        position++;
        return c;
    }

    private void expect(char expected) {
        if (peek() != expected) {
            throw invalid(String.valueOf(expected));
        }
        position++;
    }

    private IllegalArgumentException invalid(String expected) {
        return new IllegalArgumentException("not JSON: expected " + expected + " at character " + position);
    }
}
