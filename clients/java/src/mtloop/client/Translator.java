package mtloop.client;

/** The part that a participant implements: translate, and optionally learn from rewards. */
public interface Translator {
    /** Translates one sentence. */
    String translate(String source);

    /** Learns from the reward of a translation, from 0 to 1. The default does nothing. */
    default void learn(String source, String translation, double reward) {}
}
