package mtloop.client;

/** What a participant brings: translations, and what it makes of their rewards. */
public interface Translator {
    /** A translation of one sentence. */
    String translate(String source);

    /** The reward of a translation, from 0 to 1. One that does not learn leaves this as it is. */
    default void learn(String source, String translation, double reward) {}
}
