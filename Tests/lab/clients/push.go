// Pushes with the HTTP client of Go, as apns2 does: one connection, all pushes at once, then one that is refused.
// go run push.go HOST PORT CA KEY KEY-ID TEAM TOPIC TOKEN CALL...
// Prints a line for each answer: status, apns-id, body.
package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func providerToken(path, keyID, team string) string {
	block, _ := pem.Decode(must(os.ReadFile(path)))
	key := must(x509.ParsePKCS8PrivateKey(block.Bytes)).(*ecdsa.PrivateKey)
	encode := base64.RawURLEncoding.EncodeToString
	head := fmt.Sprintf(`{"alg":"ES256","kid":"%s"}`, keyID)
	body := fmt.Sprintf(`{"iss":"%s","iat":%d}`, team, time.Now().Unix())
	claims := encode([]byte(head)) + "." + encode([]byte(body))
	digest := sha256.Sum256([]byte(claims))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		log.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return claims + "." + encode(signature)
}

func main() {
	host, port, ca, topic, token := os.Args[1], os.Args[2], os.Args[3], os.Args[7], os.Args[8]
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(ca)))
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots},
	}}
	authorization := "bearer " + providerToken(os.Args[4], os.Args[5], os.Args[6])
	push := func(device, call string) string {
		url := "https://" + host + ":" + port + "/3/device/" + device
		request := must(http.NewRequest("POST", url, strings.NewReader(`{"n":1}`)))
		request.Header.Set("authorization", authorization)
		request.Header.Set("apns-topic", topic)
		request.Header.Set("apns-push-type", "voip")
		request.Header.Set("apns-expiration", "0")
		if call != "" {
			request.Header.Set("apns-id", call)
		}
		answer := must(client.Do(request))
		defer answer.Body.Close()
		body := must(io.ReadAll(answer.Body))
		return fmt.Sprintln(answer.StatusCode, answer.Header.Get("apns-id"), string(body))
	}
	calls := os.Args[9:]
	lines := make([]string, len(calls))
	var waiting sync.WaitGroup
	for index, call := range calls {
		waiting.Add(1)
		go func(index int, call string) {
			defer waiting.Done()
			lines[index] = push(token, call)
		}(index, call)
	}
	waiting.Wait()
	fmt.Print(strings.Join(lines, ""), push(strings.Repeat("ab", 32), ""))
}
