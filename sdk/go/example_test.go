package tierway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tierway/tierway/sdk/go"
)

// A login endpoint reads the whole body, verifies its bytes, and only then parses it.
func Example() {
	const secret = "a-secret-that-two-parties-share"
	login := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || !tierway.VerifyWebhookSignature(secret, body, r.Header.Get(tierway.SignatureHeader)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"subject":"acct_1001"}`)
	}

	for _, signature := range []string{"0308dd1db298d7a46c89f5671ef20083f4a6710afd62a5a7847e3d48a9c28678", "forged"} {
		request := httptest.NewRequest(http.MethodPost, "/login", strings.NewReader(`{"customData":{}}`))
		request.Header.Set(tierway.SignatureHeader, signature)
		answer := httptest.NewRecorder()
		login(answer, request)
		fmt.Println(answer.Code, answer.Body)
	}
	// Output:
	// 200 {"subject":"acct_1001"}
	// 401
}

func ExampleVerifyWebhookSignature() {
	secret := "a-secret-that-two-parties-share"
	body := []byte(`{"customData":{}}`)
	signature := "0308dd1db298d7a46c89f5671ef20083f4a6710afd62a5a7847e3d48a9c28678"
	fmt.Println(tierway.VerifyWebhookSignature(secret, body, signature))
	fmt.Println(tierway.VerifyWebhookSignature(secret, body, strings.ToUpper(signature)))
	fmt.Println(tierway.VerifyWebhookSignature(secret, []byte(`{ "customData": {} }`), signature))
	// Output:
	// true
	// false
	// false
}
