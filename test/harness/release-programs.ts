import { MODULE } from '../../changes/release/archives.ts'

// Programs of readers, which use the files of a release against the service at TIERWAY_URL.

export const GAME = `
import { Tierway } from 'tierway-client'

const { TIERWAY_URL, SDK_KEY } = process.env
const kept = new Map()
const storage = { get: async (key) => kept.get(key) ?? null, set: async (key, text) => void kept.set(key, text), remove: async (key) => void kept.delete(key) }
const tierway = new Tierway({ baseUrl: TIERWAY_URL, sdkKey: SDK_KEY, storage })
await tierway.login({ customData: { player: 'ada' } })
const season = await tierway.scenario('season-1').start()
const pass = season.battlePass('pass')
const { level, leveledUp } = await pass.addXp(600n, { source: 'match' })
const { success } = await pass.claim(2, 'free')
const [token] = [...kept.values()].join().match(/ey[\\w-]+\\.[\\w-]+\\.[\\w-]+/)
console.log(JSON.stringify({ level, leveledUp, success, token }))
`

export const GAME_SERVER = `
import { createServerClient, createTokenVerifier } from 'tierway-server'
import { signWebhook, verifyWebhookSignature } from 'tierway-server/webhook'

const { TIERWAY_URL: url, ENVIRONMENT_ID: environmentId, SERVER_KEY: key, TOKEN } = process.env
const body = '{"customData":{"player":"ada"}}'
const signed = verifyWebhookSignature('secret', body, signWebhook('secret', body))
const forged = verifyWebhookSignature('secret', body, signWebhook('other', body))
const { playerId } = await createTokenVerifier({ url, environmentId }).verify(TOKEN)
const tierway = createServerClient({ url, key })
const found = await tierway.findPlayer({ provider: 'custom', subject: 'demo:ada' })
const grant = { player: { playerId }, scenarioId: 'season-1', nodeId: 'pass', amount: 50, source: 'match' }
const { results } = await tierway.grantXp({ grants: [grant] })
const errors = results.map(({ error }) => error ?? null)
console.log(JSON.stringify({ signed, forged, isSame: found.playerId === playerId, errors }))
`

export const GO_PROGRAM = `package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"

	"${MODULE}"
)

func main() {
	body := []byte("{}")
	mac := hmac.New(sha256.New, []byte("secret"))
	mac.Write(body)
	signature := hex.EncodeToString(mac.Sum(nil))
	verifier := &tierway.TokenVerifier{URL: os.Getenv("TIERWAY_URL"), EnvironmentID: os.Getenv("ENVIRONMENT_ID")}
	player, err := verifier.Verify(context.Background(), os.Getenv("TOKEN"))
	signed := tierway.VerifyWebhookSignature("secret", body, signature)
	fmt.Println(signed, tierway.VerifyWebhookSignature("other", body, signature), err == nil && player.PlayerID != "")
}
`

export const UNITY_PROGRAM = `
using System;
using System.Threading.Tasks;
using Tierway;

static class Game
{
    static void Main() { PlayAsync().GetAwaiter().GetResult(); }

    static async Task PlayAsync()
    {
        var url = Environment.GetEnvironmentVariable("TIERWAY_URL");
        var key = Environment.GetEnvironmentVariable("SDK_KEY");
        using (var tierway = new TierwayClient(new TierwayOptions { BaseUrl = url, SdkKey = key }))
        {
            await tierway.LoginAsync(new LoginRequest { CustomData = "{\\"player\\":\\"grace\\"}" });
            var season = await tierway.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            var xp = await pass.AddXpAsync(600, "match");
            var claim = await pass.ClaimAsync(2, Track.Free);
            Console.WriteLine("level " + xp.Level + ", claimed " + claim.Success);
        }
    }
}
`
