package mtloop.client;

import java.util.Map;

/** A sentence to translate. The id is opaque; two sentences may have the same source. */
public record Sentence(String id, String source) {
    static Sentence of(Map<String, Object> answer) throws Unreachable {
        return new Sentence(Answer.text(answer, "id"), Answer.text(answer, "source"));
    }
}
