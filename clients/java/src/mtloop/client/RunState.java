package mtloop.client;

import java.util.Map;

/** The progress of a run. `position` is the number of translations with a reward in the current pass. */
public record RunState(
        String run, String task, int passNumber, int samples, int position, double cumulativeReward, String state) {
    static RunState parse(Map<String, Object> response) throws Unreachable {
        return new RunState(
                ResponseFields.text(response, "run"),
                ResponseFields.text(response, "task"),
                (int) ResponseFields.number(response, "pass"),
                (int) ResponseFields.number(response, "samples"),
                (int) ResponseFields.number(response, "position"),
                ResponseFields.number(response, "cumulative_reward"),
                ResponseFields.text(response, "state"));
    }
}
