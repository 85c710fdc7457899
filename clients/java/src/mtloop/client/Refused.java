package mtloop.client;

import java.io.IOException;

/** The service answered, and the answer is no. Asking again will not change it. */
public final class Refused extends IOException {
    private static final long serialVersionUID = 1L;
    private static final String URN = "urn:mtloop:";

    /** The HTTP status. */
    public final int status;
    /** The name of the problem, such as already-translated; empty where the service gives none. */
    public final String kind;

    Refused(int status, String type, String detail) {
        super("the service refused (" + status + "): " + detail);
        this.status = status;
        this.kind = type.startsWith(URN) ? type.substring(URN.length()) : "";
    }
}
