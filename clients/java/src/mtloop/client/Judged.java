package mtloop.client;

import java.util.Map;
import java.util.Optional;

/** The reward of a submitted translation, and the next sentence (empty at the end of the stream). */
public record Judged(String id, double reward, Optional<Sentence> next) {
    static Judged of(Map<String, Object> answer) throws Unreachable {
        Object next = answer.get("next");
        Optional<Sentence> following = next == null ? Optional.empty() : Optional.of(Sentence.of(Answer.object(next)));
        return new Judged(Answer.text(answer, "id"), Answer.number(answer, "reward"), following);
    }
}
