// Pushes with the HTTP client of Java: one connection, all pushes at once, then one that is refused.
// java Push.java HOST PORT CA KEY KEY-ID TEAM TOPIC TOKEN CALL...
// Prints a line for each answer: status, apns-id, body.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public class Push {
    private static String[] words;
    private static String authorization;
    private static HttpClient client;

    public static void main(String[] arguments) throws Exception {
        words = arguments;
        authorization = "bearer " + providerToken();
        client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(trust()).build();
        // The first opens the connection; without it each of them would open its own.
        print(push(words[7], words[8]).join());
        List<CompletableFuture<HttpResponse<String>>> answers =
            Arrays.stream(words, 9, words.length).map(call -> push(words[7], call)).toList();
        answers.forEach(answer -> print(answer.join()));
        print(push("ab".repeat(32), null).join());
    }

    private static String providerToken() throws Exception {
        String pem = Files.readString(Path.of(words[3])).replaceAll("-----[A-Z ]+-----|\\s", "");
        var key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
        String head = String.format("{\"alg\":\"ES256\",\"kid\":\"%s\"}", words[4]);
        String body = String.format("{\"iss\":\"%s\",\"iat\":%d}", words[5], System.currentTimeMillis() / 1000);
        String claims = encode(head.getBytes(StandardCharsets.UTF_8)) + "." + encode(body.getBytes(StandardCharsets.UTF_8));
        Signature signature = Signature.getInstance("SHA256withECDSAinP1363Format");
        signature.initSign(key);
        signature.update(claims.getBytes(StandardCharsets.UTF_8));
        return claims + "." + encode(signature.sign());
    }

    private static String encode(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static SSLContext trust() throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var file = Files.newInputStream(Path.of(words[2]))) {
            store.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }

    private static CompletableFuture<HttpResponse<String>> push(String device, String call) {
        var request = HttpRequest.newBuilder(URI.create("https://" + words[0] + ":" + words[1] + "/3/device/" + device))
            .header("authorization", authorization).header("apns-topic", words[6])
            .header("apns-push-type", "voip").header("apns-expiration", "0")
            .POST(HttpRequest.BodyPublishers.ofString("{\"n\":1}"));
        if (call != null) request.header("apns-id", call);
        return client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private static void print(HttpResponse<String> answer) {
        String id = answer.headers().firstValue("apns-id").orElse("-");
        System.out.println(answer.statusCode() + " " + id + " " + answer.body());
    }
}
