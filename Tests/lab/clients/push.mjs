// Pushes with the HTTP/2 client of Node, as node-apn does: one connection, all pushes at once, then one that is refused.
// node push.mjs HOST PORT CA KEY KEY-ID TEAM TOPIC TOKEN CALL...
// Prints a line for each answer: status, apns-id, body.
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [host, port, ca, key, keyID, team, topic, token, ...calls] = process.argv.slice(2);
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = `${encode({ alg: "ES256", kid: keyID })}.${encode({ iss: team, iat: Math.floor(Date.now() / 1000) })}`;
const signature = sign("sha256", Buffer.from(claims), {
    key: createPrivateKey(readFileSync(key)),
    dsaEncoding: "ieee-p1363",
});
const session = connect(`https://${host}:${port}`, { ca: readFileSync(ca) });

function push(device, call) {
    return new Promise((resolve, reject) => {
        const request = session.request({
            ":method": "POST",
            ":path": `/3/device/${device}`,
            authorization: `bearer ${claims}.${signature.toString("base64url")}`,
            "apns-topic": topic,
            "apns-push-type": "voip",
            "apns-expiration": "0",
            ...(call && { "apns-id": call }),
        });
        let head;
        let body = "";
        request.on("response", (headers) => (head = headers));
        request.on("data", (piece) => (body += piece));
        request.on("end", () => resolve(`${head[":status"]} ${head["apns-id"]} ${body}`));
        request.on("error", reject);
        request.end(JSON.stringify({ n: 1 }));
    });
}

for (const line of await Promise.all(calls.map((call) => push(token, call)))) console.log(line);
console.log(await push("ab".repeat(32)));
session.close();
