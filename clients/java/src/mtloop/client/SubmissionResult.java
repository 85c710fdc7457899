package mtloop.client;

import java.util.Map;
import java.util.Optional;

/** The reward of a submitted translation, from 0 to 1, and the next sentence (empty at the end of the stream). */
public record SubmissionResult(String id, double reward, Optional<SourceSentence> next) {
    static SubmissionResult parse(Map<String, Object> response) throws Unreachable {
        Object next = response.get("next");
        Optional<SourceSentence> following =
                next == null ? Optional.empty() : Optional.of(SourceSentence.parse(ResponseFields.object(next)));
        return new SubmissionResult(
                ResponseFields.text(response, "id"), ResponseFields.number(response, "reward"), following);
    }
}
