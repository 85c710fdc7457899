package mtloop.client;

import java.util.Map;

/** The state of a run. `position` is the number of translations with a reward in the current pass. */
public record Run(String id, String task, int pass, int samples, int position, double cumulativeReward, String state) {
    static Run of(Map<String, Object> answer) throws Unreachable {
        return new Run(
                Answer.text(answer, "run"),
                Answer.text(answer, "task"),
                (int) Answer.number(answer, "pass"),
                (int) Answer.number(answer, "samples"),
                (int) Answer.number(answer, "position"),
                Answer.number(answer, "cumulative_reward"),
                Answer.text(answer, "state"));
    }
}
