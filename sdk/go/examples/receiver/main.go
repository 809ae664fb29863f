// A studio's login endpoint, small enough to copy. It listens on 127.0.0.1 and needs the secret of its provider:
//
//	WEBHOOK_SECRET=… PORT=5001 go run ./examples/receiver
//
// While a secret is being replaced, WEBHOOK_SECRET_OLD is the previous one.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/tierway/tierway/sdk/go"
)

// maxBodyBytes is the longest request of a game client that Tierway accepts, by the default of its MAX_BODY_BYTES.
const maxBodyBytes = 1 << 20

// accounts stands for the studio's own sessions: the tickets that its launcher or website gave to players, and their
// accounts. A real ticket is long, random and short-lived.
var accounts = map[string]player{
	"ticket-of-ada": {"acct_1001", "Ada", map[string]any{
		"founder": true,
		"guild":   map[string]any{"id": 7, "name": "Lanterns"},
	}},
	"ticket-of-grace": {"acct_1002", "Grace", map[string]any{"founder": false}},
}

type player struct {
	Subject  string         `json:"subject"`
	Nickname string         `json:"nickname,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
}

type endpoint struct {
	secrets []string
}

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/login" {
		deny(w, http.StatusNotFound, "not found")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		deny(w, http.StatusRequestEntityTooLarge, "body too large or cut off")
		return
	}
	if !e.isSigned(body, r.Header.Get(tierway.SignatureHeader)) {
		deny(w, http.StatusUnauthorized, "invalid signature")
		return
	}

	// The content is signed, but comes from a game client: read only the ticket, and look it up in our own records.
	var request struct {
		CustomData struct{ Ticket string }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		deny(w, http.StatusBadRequest, "invalid request")
		return
	}
	found, ok := accounts[request.CustomData.Ticket]
	if !ok {
		deny(w, http.StatusUnauthorized, "unknown ticket")
		return
	}
	log.Printf("login of %s", found.Subject)
	answer(w, http.StatusOK, found)
}

func (e endpoint) isSigned(body []byte, signature string) bool {
	for _, secret := range e.secrets {
		if tierway.VerifyWebhookSignature(secret, body, signature) {
			return true
		}
	}
	return false
}

func deny(w http.ResponseWriter, status int, reason string) {
	log.Printf("denied: %s", reason)
	answer(w, status, map[string]string{"error": reason})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		log.Printf("the answer was lost: %v", err)
	}
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "5001"
	}
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("WEBHOOK_SECRET is missing: the secret that the provider was set up with")
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		log.Fatal(err)
	}
	url := fmt.Sprintf("http://%s/login", listener.Addr())
	fmt.Printf(`listening on %s

Try it, with the same WEBHOOK_SECRET in that terminal:
  BODY='{"customData":{"ticket":"ticket-of-ada"}}'
  SIGNATURE=$(printf %%s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
  curl -i %s -H "X-Signature: $SIGNATURE" --data-binary "$BODY"

`, url, url)
	server := &http.Server{
		Handler:     endpoint{[]string{secret, os.Getenv("WEBHOOK_SECRET_OLD")}},
		ReadTimeout: 10 * time.Second,
	}
	log.Fatal(server.Serve(listener))
}
