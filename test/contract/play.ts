import { createHmac } from 'node:crypto'
import { Agent, request as send } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Hit, type Operator, type Respond, signatureOf } from '../harness/operator.ts'

// Plays a file of the corpus (see README.md) against a service, and gives the file as it is with the answers of that
// service: it equals the file as long as the service answers as recorded.

/** A service that the corpus is played against. */
export interface Stage {
  readonly baseUrl: string
  readonly operator: Operator
  /** Values that differ from service to service, by the names that stand for them in the files. */
  readonly values: Map<string, string>
  /** Waits until the calls before are in the stream of events. */
  settle(): Promise<void>
}

interface Case {
  readonly title: string
  /** Lines that follow the title: comments, and `Keep:` with the members of the answer to keep. */
  readonly remarks: readonly string[]
  readonly request: string
  /** What is recorded of the answer. */
  readonly recorded: string
}

const EACH_CASE = /^=== (.*)\n([\s\S]*?)^>>> ([\s\S]*?)(?:^<<< ([\s\S]*?))?(?=^=== |$(?![\s\S]))/gm

/** Of a call that only prepares others, the status alone is recorded. */
const PREPARES = 'Prepares.'
/** A recording leaves this answer as it is, which is not that of 0.1.0. The line says why. */
const DIFFERS = 'Differs:'

/** Webhooks do what customData says: they answer with `status` the text of `answer`, or the string `text`. */
export const obey: Respond = (hit, response) => {
  const { text, status = 200 } = JSON.parse(hit.customData)
  const answer = /"answer":(\{.*\})\}$/s.exec(hit.customData)?.[1]
  response.writeHead(status, { 'content-type': 'application/json' }).end(answer ?? text ?? '{}')
}

/** Plays the cases of a file one after another. With `isRecording`, answers that differ stay as they are. */
export async function play(file: string, stage: Stage, isRecording = false): Promise<string> {
  await stage.settle()
  const [head = ''] = file.split(/^=== /m, 1)
  let played = head
  for (const { title, remarks, request, recorded } of casesOf(file)) {
    const answer = await answerOf(request, remarks, stage)
    const isKept = isRecording && recorded !== '' && remarks.some((line) => line.startsWith(DIFFERS))
    played += [`=== ${title}`, ...remarks, `>>> ${request}`, `<<< ${isKept ? recorded : answer}`, '', ''].join('\n')
  }
  return played.trimEnd().concat('\n')
}

function casesOf(file: string): Case[] {
  return [...file.matchAll(EACH_CASE)].map(([, title = '', remarks = '', request = '', recorded = '']) => ({
    title,
    remarks: remarks.split('\n').filter((line) => line !== ''),
    request: request.trimEnd(),
    recorded: recorded.trimEnd(),
  }))
}

const agent = new Agent({ keepAlive: true })

/** Sends a request of the corpus, and gives what the webhook received meanwhile and the answer, with names for values. */
async function answerOf(request: string, remarks: readonly string[], stage: Stage): Promise<string> {
  const { operator, values } = stage
  const hits = operator.hits.length
  const [head = '', ...rest] = request.split('\n\n')
  const [first = '', ...headers] = fill(head, values).toString().split('\n')
  const [method, path] = first.split(' ')
  const sent = send(new URL(path ?? '', stage.baseUrl), {
    agent,
    method,
    headers: Object.fromEntries(headers.map((line) => line.split(': '))),
  })
  sent.end(rest.length > 0 ? fill(rest.join('\n\n'), values) : undefined)
  const answer = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    sent.on('response', resolve).on('error', reject),
  )
  const body = await buffer(answer)
  keep(remarks, body.toString(), values)

  if (remarks.includes(PREPARES)) return String(answer.statusCode)

  const known = new Map(values)
  const id = answer.headers['x-request-id']
  if (typeof id === 'string' && !request.includes(id)) known.set('requestId', id)
  const calls = operator.hits
    .slice(hits)
    .map((hit) => `webhook ${hit.method} ${hit.url}\n${message(headersOfHit(hit, operator), hit.body, known)}`)
  const named = pairs(answer.rawHeaders)
    .filter(isRecorded)
    .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  const tokens = /"accessToken":"([\w.-]+)"/.exec(body.toString())?.[1]
  return [
    ...calls,
    `${answer.statusCode}\n${message(named, body, known)}`,
    ...(tokens === undefined ? [] : [`access token\n\n${tokenText(tokens, known)}`]),
  ].join('\n\n<<< ')
}

/** The header and the claims of an access token. */
function tokenText(token: string, values: ReadonlyMap<string, string>): string {
  const [header = '', claims = ''] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  const { iat } = JSON.parse(claims)
  return [header.replace(/"kid":"[^"]*"/, '"kid":"{kid}"'), claims.replace(/"jti":"[^"]*"/, '"jti":"{jti}"')]
    .map((part) => part.replaceAll(`:${iat}`, ':{iat}').replaceAll(`:${iat + DAY_MS / 1000}`, ':{iat + 86400}'))
    .map((part) => nameValues(part, values))
    .join('\n')
}

/** Headers of the connection and of the moment, and one that webhooks get since: no endpoint of the contract reads it. */
const UNRECORDED = new Set(['connection', 'date', 'keep-alive', 'webhook-purpose'])

const isRecorded = ([name]: readonly [string, string]) => !UNRECORDED.has(name.toLowerCase())

function pairs(raw: readonly string[]): [name: string, value: string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as [string, string]] : []))
}

/** The headers that a webhook received. Signatures that are right have a name. */
function headersOfHit({ rawHeaders, headers, body }: Hit, { secret }: Operator): [string, string][] {
  const id = String(headers['webhook-id'])
  const time = String(headers['webhook-timestamp'])
  const signed = createHmac('sha256', secret).update(`${id}.${time}.`).update(body).digest('base64')
  const names = new Map([
    [signatureOf(secret, body), '{hex HMAC-SHA256 of the body}'],
    [`v1,${signed}`, '{v1, HMAC-SHA256 of id, time and body}'],
    [id, '{id}'],
    [time, '{time}'],
    [String(headers.host), '{host}'],
  ])
  return pairs(rawHeaders)
    .filter(isRecorded)
    .map(([name, value]) => [name, names.get(value) ?? value])
}

function message(headers: readonly [string, string][], body: Buffer, values: ReadonlyMap<string, string>): string {
  const length = String(body.byteLength)
  const lines = headers.map(([name, value]) => {
    if (name.toLowerCase() === 'content-length' && value === length) return `${name}: {length}`
    return name.toLowerCase() === 'etag' ? `${name}: {etag}` : `${name}: ${nameValues(value, values)}`
  })
  return [...lines, ...(body.byteLength > 0 ? ['', nameValues(body.toString(), values)] : [])].join('\n')
}

/** The bytes of a text: names of values become values, `{x*3}` becomes `xxx`, and `{0xff}` a byte. */
function fill(text: string, values: ReadonlyMap<string, string>): Buffer {
  const filled = text
    .replaceAll(/\{(\w+)\}/g, (whole, name) => values.get(name) ?? whole)
    .replaceAll(/\{(.)\*(\d+)\}/g, (_, letter, count) => letter.repeat(Number(count)))
  return Buffer.concat(
    filled.split('{0xff}').flatMap((part, at) => [...(at > 0 ? [Buffer.of(255)] : []), Buffer.from(part)]),
  )
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
const DAY_MS = 86_400_000

/** A text with names for known values, ids, tokens, the present time, and letters that come very often in a row. */
function nameValues(text: string, values: ReadonlyMap<string, string>): string {
  let named = text
  for (const [name, value] of [...values].sort(([, a], [, b]) => b.length - a.length))
    named = named.replaceAll(value, `{${name}}`)
  return named
    .replaceAll(TIME, (time) => (Math.abs(Date.parse(time) - Date.now()) < DAY_MS ? '{time}' : time))
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '{id}')
    .replaceAll(/"accessToken":"eyJ[\w.-]+"/g, '"accessToken":"{token}"')
    .replaceAll(/"refreshToken":"twrt_[\w-]+"/g, '"refreshToken":"{token}"')
    .replaceAll(/(.)\1{48,}/gs, (row, letter) => `{${letter}*${[...row].length}}`)
}

/** Keeps members of an answer, as `Keep: ada = accessToken, run = data.startRun.runId` says. */
function keep(remarks: readonly string[], text: string, values: Map<string, string>): void {
  const wanted = remarks.flatMap((line) => (line.startsWith('Keep: ') ? line.slice(6).split(', ') : []))
  for (const entry of wanted) {
    const [name = '', path = ''] = entry.split(' = ')
    const value = path.split('.').reduce((of, member) => of?.[member], JSON.parse(text))
    if (typeof value !== 'string') throw new Error(`${path} cannot be kept of ${text}`)
    values.set(name, value)
  }
}
