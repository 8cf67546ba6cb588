package shop;

import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;

/** A server in a container, in memory. */
public class CantleContainer extends GenericContainer<CantleContainer> {
    public CantleContainer() {
        super("ghcr.io/cantledb/cantle:0.1");
        withCommand("serve", "--memory", "--replica-set", "rs0");
        withExposedPorts(27017);
        waitingFor(Wait.forLogMessage("cantle ready .*\\n", 1));
    }

    /** The member is not where the server thinks it is, so clients connect to it directly. */
    public String uri() {
        return "mongodb://" + getHost() + ":" + getMappedPort(27017) + "/?directConnection=true";
    }
}
