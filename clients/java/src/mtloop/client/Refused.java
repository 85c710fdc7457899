package mtloop.client;

import java.io.IOException;

/** The service refused the request. A retry will not change this. */
public final class Refused extends IOException {
    private static final long serialVersionUID = 1L;
    private static final String URN = "urn:mtloop:";

    /** The HTTP status. */
    public final int status;
    /** The problem type, such as already-translated; empty if the response has none. */
    public final String kind;

    Refused(int status, String type, String detail) {
        super("the service refused (" + status + "): " + detail);
        this.status = status;
        this.kind = type.startsWith(URN) ? type.substring(URN.length()) : "";
    }
}
