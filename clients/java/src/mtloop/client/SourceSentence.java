package mtloop.client;

import java.util.Map;

/** A sentence to translate. The id is opaque; two sentences may have the same source. */
public record SourceSentence(String id, String source) {
    static SourceSentence parse(Map<String, Object> response) throws Unreachable {
        return new SourceSentence(ResponseFields.text(response, "id"), ResponseFields.text(response, "source"));
    }
}
