package client;

import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoException;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import java.util.List;

/** The line of output per area that the runner reads, and what the programs share. */
final class Areas {
  static final String URI = System.getenv("CANTLE_URI");
  /** Of one server, where there are several. */
  static final String ONE = System.getenv().getOrDefault("CANTLE_ONE_URI", URI);
  private static final List<String> ABOUT_ONE = List.of("retryable", "throttling", "pool");
  static final boolean COSMOS = "cosmos".equals(System.getenv("CANTLE_PERSONALITY"));
  static int failures;

  interface Check {
    void run(MongoClient client) throws Exception;
  }

  /** Says why an area does not apply. */
  static final class Skip extends Exception {
    Skip(String why) {
      super(why);
    }
  }

  interface Call {
    Object run() throws Exception;
  }

  static void area(String client, String name, Check check) {
    var settings = MongoClientSettings.builder().applyConnectionString(new ConnectionString(ABOUT_ONE.contains(name) ? ONE : URI)).applicationName(client + "_" + name);
    try (var connected = MongoClients.create(settings.build())) {
      connected.getDatabase("clients_" + client).drop();
      check.run(connected);
      connected.getDatabase("clients_" + client).drop();
      System.out.println(client + " " + name + " ok");
    } catch (Skip e) {
      System.out.println(client + " " + name + " skip " + e.getMessage());
    } catch (Throwable e) {
      failures++;
      var text = new java.io.StringWriter();
      e.printStackTrace(new java.io.PrintWriter(text));
      System.out.println(client + " " + name + " FAIL " + text.toString().replace("\n", " | "));
    }
  }

  static void equal(Object got, Object want) {
    if (!String.valueOf(got).equals(String.valueOf(want))) throw new AssertionError("got " + got + ", want " + want);
  }

  static void that(boolean holds) {
    if (!holds) throw new AssertionError();
  }

  /** Expects an error of the server with this code. */
  static MongoException refused(int code, Call call) throws Exception {
    try {
      call.run();
    } catch (MongoException e) {
      if (e.getCode() != code) throw e;
      return e;
    }
    throw new AssertionError("no error, expected " + code);
  }

  static String with(String more) {
    return with(URI, more);
  }

  static String with(String uri, String more) {
    return uri + (uri.contains("?") ? "&" : "?") + more;
  }

  /** Java reads no authority from a connection string: it is what the process trusts. */
  private static void trust(String file) throws Exception {
    var store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (var in = Files.newInputStream(Path.of(file))) {
      store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
    }
    var trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(store);
    var context = SSLContext.getInstance("TLS");
    context.init(null, trusted.getTrustManagers(), null);
    SSLContext.setDefault(context);
  }

  public static void main(String[] args) throws Exception {
    var authority = System.getenv("CANTLE_CA_FILE");
    if (authority != null && !authority.isEmpty()) trust(authority);
    Driver.all();
    Morphia.all();
    Spring.all();
    System.exit(failures > 0 ? 1 : 0);
  }
}
