package mtloop.client;

import java.util.Map;

/** How far a run has come: so many translations of the current pass have their reward. */
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
