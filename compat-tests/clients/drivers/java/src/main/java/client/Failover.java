package client;

import com.mongodb.client.MongoClients;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.Updates;
import java.util.stream.IntStream;
import org.bson.Document;

/**
 * Two clients of the Java driver write until the standard input ends. Each acknowledged write is a line of output: client,
 * number, operation time of the reply, and the time of its arrival in milliseconds. There is no code for errors but a line that begins with "error".
 */
final class Failover {
  private static final int PER_DOC = 50;
  private static volatile boolean ended;

  public static void main(String[] args) throws Exception {
    try (var client = MongoClients.create(Areas.URI)) {
      var threads = IntStream.range(0, 2).mapToObj(w -> new Thread(() -> write(client, "java" + w))).toList();
      for (var t : threads) t.start();
      System.in.readAllBytes();
      ended = true;
      for (var t : threads) t.join();
    }
  }

  private static void write(com.mongodb.client.MongoClient client, String name) {
    var coll = client.getDatabase("shop").getCollection("load");
    try (var session = client.startSession()) {
      for (int n = 0; !ended; n++) {
        try {
          var id = new Document("w", name).append("part", n / PER_DOC);
          coll.updateOne(session, Filters.eq("_id", id), Updates.push("n", n), new UpdateOptions().upsert(true));
          System.out.println(name + " " + n + " " + session.getOperationTime().getTime() + " " + session.getOperationTime().getInc() + " " + System.currentTimeMillis());
        } catch (RuntimeException e) {
          System.out.println(("error " + name + " " + n + " " + e).replace("\n", " "));
        }
        Thread.sleep(5);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
