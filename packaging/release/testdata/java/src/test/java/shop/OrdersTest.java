package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import org.bson.Document;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class OrdersTest {
    static Cantle cantle;
    static MongoClient client;

    @BeforeAll
    static void start() throws Exception {
        cantle = new Cantle();
        client = MongoClients.create(cantle.uri);
    }

    @AfterAll
    static void stop() throws Exception {
        client.close();
        cantle.close();
    }

    @Test
    void aTransactionThatIsGivenUp() {
        var orders = client.getDatabase("shop").getCollection("orders");
        try (var session = client.startSession()) {
            assertThrows(IllegalStateException.class, () -> session.withTransaction(() -> {
                orders.insertOne(session, new Document("total", 3));
                throw new IllegalStateException("no");
            }));
        }
        assertEquals(0, orders.countDocuments());
    }
}
