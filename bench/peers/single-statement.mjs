import fastify from 'fastify'
import { importJWK, jwtVerify } from 'jose'
import pg from 'pg'

// The single-statement peer: the battle pass, written by hand for speed without an engine, with Fastify 5 and `pg`. A
// call is one named, prepared statement that commits by itself: one round trip, one transaction. A token is verified
// once and then remembered. It needs Postgres 18, for `uuidv7` and `RETURNING old`.
//
// It leaves out much of what the service does, which spares it work:
// - checks whether the player is banned, and whether its run exists and is active;
// - new versions of the scenario: the peer gets one definition at its start, of a season without an end;
// - the effects of a crossing in the scenario: the run's plan, rewards of other nodes, the completion of the pass;
// - figures for dashboards, metrics, logs, request ids, live events to listeners;
// - idempotency keys of xp and claims, amounts of xp above 2^53, tiers that grant items.

/** Up to this number, more connections gave more calls a second at the same CPU time a call. */
const CONNECTIONS = 20
const MAX_TOKENS = 50_000

/** Serves the pass of a definition. Returns the port. */
async function serve({ databaseUrl, publicKeys, environmentId, scenarioId, definition }) {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: CONNECTIONS,
    idleTimeoutMillis: 300_000,
    // Each connection plans a statement once, for all values, and finds each row by its key.
    options: '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off',
  })
  pool.on('error', (error) => process.stderr.write(`${error.message}\n`))
  const verify = await createVerifier(publicKeys, environmentId)
  const pass = createPass(pool, scenarioId, definition)

  const app = fastify({ ajv: { customOptions: { coerceTypes: false, removeAdditional: false } } })
  app.setErrorHandler((error, _request, reply) => {
    // Class 22: Postgres rejects the value, such as a text with a NUL or a total beyond int64.
    const status = /^22...$/.test(error.code) ? 400 : (error.statusCode ?? 500)
    reply.code(status).send({ error: error.message })
  })
  for (const [path, { fields, answer }] of Object.entries(pass.calls)) {
    const properties = { scenarioId: text(1, 128), nodeId: text(1, 128), ...fields }
    const required = Object.keys(properties).filter((name) => name !== 'idempotencyKey')
    const schema = { body: { type: 'object', properties, required } }
    app.post(`/sdk/v1/battlepass/${path}`, { schema }, async ({ headers, body }, reply) => {
      const playerId = await verify(headers.authorization)
      if (body.scenarioId !== scenarioId || body.nodeId !== pass.nodeId) throw refusal(404, 'node not found')
      const json = await answer(environmentId, playerId, body)
      reply.header('content-type', 'application/json; charset=utf-8')
      return json
    })
  }
  await app.listen({ port: 0, host: '127.0.0.1' })
  return app.server.address().port
}

const text = (minLength, maxLength) => ({ type: 'string', minLength, maxLength })
const runId = { type: 'string', pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }

function refusal(statusCode, message, cause) {
  return Object.assign(new Error(message, { cause }), { statusCode })
}

/** Finds the player of an Authorization header, or refuses it. */
async function createVerifier(publicKeys, environmentId) {
  const keys = new Map()
  for (const key of publicKeys) keys.set(key.kid, await importJWK(key, 'EdDSA'))
  const options = {
    algorithms: ['EdDSA'],
    typ: 'at+jwt',
    issuer: 'tierway',
    audience: 'tierway',
    requiredClaims: ['sub', 'env', 'iat', 'exp', 'jti'],
  }
  function keyOf({ kid }) {
    const key = keys.get(kid)
    if (!key) throw refusal(401, 'invalid token')
    return key
  }
  // Keyed by the whole header, the oldest first.
  const known = new Map()
  return async (authorization = '') => {
    const found = known.get(authorization)
    if (found && found.expiresAt > Date.now()) return found.playerId
    const { payload } = await jwtVerify(authorization.slice('Bearer '.length), keyOf, options).catch((cause) => {
      throw refusal(401, 'invalid token', cause)
    })
    if (payload.env !== environmentId) throw refusal(401, 'invalid token')
    if (known.size >= MAX_TOKENS) known.delete(known.keys().next().value)
    known.set(authorization, { playerId: payload.sub, expiresAt: payload.exp * 1000 })
    return payload.sub
  }
}

/**
 * The four calls on the definition's battle pass. Each answers with the text of its JSON, so that int64 stays exact.
 */
function createPass(pool, scenarioId, { nodes }) {
  const { id: nodeId, data } = nodes.find(({ type }) => type === 'battle-pass')
  const { levels, premium } = data
  if (levels.some(({ level }, index) => level !== index + 1)) throw new Error('the levels must be 1, 2, 3 and so on')
  // The constants of all calls are in the statements: the node, the levels and the price.
  const place = `${pg.escapeLiteral(scenarioId)}, ${pg.escapeLiteral(nodeId)}`
  const here = (table) =>
    `${table}.environment_id = $1 AND ${table}.player_id = $2 AND (${table}.scenario_id, ${table}.node_id) = (${place})`
  const thresholds = `'{${levels.map(({ xp }) => xp).join(',')}}'::bigint[]`
  /** As the levels are 1, 2, 3 and so on, the level is the number of levels that the xp has reached. */
  const levelOf = (xp) => `width_bucket(${xp}, ${thresholds})`
  const currency = pg.escapeLiteral(premium.price.currency)
  const price = Number(premium.price.amount)
  const tiers = new Map(data.tiers.map((tier) => [`${tier.track} ${tier.level}`, readTier(tier, levels)]))

  const addXp = prepare(
    'add-xp',
    // The counter is locked last, and only at a level-up. Statements queue for it at the advisory lock: that costs
    // Postgres less than many waiters on one row, each of which waits for every version of it.
    `WITH pass AS (
      INSERT INTO bench_peer_passes AS p (environment_id, player_id, scenario_id, node_id, xp, level)
      VALUES ($1, $2, ${place}, $3, ${levelOf('$3::bigint')})
      ON CONFLICT (environment_id, player_id, scenario_id, node_id)
      DO UPDATE SET xp = p.xp + excluded.xp, level = ${levelOf('p.xp + excluded.xp')}
      RETURNING p.xp, p.level, ${levelOf('p.xp - $3::bigint')} AS level_before
    ), entry AS (
      INSERT INTO bench_peer_xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
      VALUES ($1, $2, uuidv7(), ${place}, $4, $3, $5)
    ), stream AS (
      UPDATE bench_peer_streams s SET position = s.position + 1
      FROM (SELECT pg_advisory_xact_lock(1) FROM pass WHERE level > level_before) AS turn
      WHERE s.environment_id = $1 RETURNING s.position
    ), event AS (
      INSERT INTO bench_peer_events
        (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data)
      SELECT $1, stream.position, 'crossing', 'onLevelUp', $2, ${place}, $4, format(
        '{"fromLevel":%s,"toLevel":%s,"xp":%s,"source":%s}', pass.level_before, pass.level, pass.xp, to_json($5::text)
      ) FROM stream, pass
    )
    SELECT level, xp, level > level_before FROM pass`,
  )
  const claim = prepare(
    'claim',
    `WITH claim AS (
      INSERT INTO bench_peer_tier_claims
        (environment_id, player_id, scenario_id, node_id, level, track, granted, run_id)
      SELECT $1, $2, ${place}, $3, $4, $5, $6 FROM bench_peer_passes p
      WHERE ${here('p')} AND p.xp >= $7 AND (p.premium_owned OR $4 = 'free')
      ON CONFLICT (environment_id, player_id, scenario_id, node_id, level, track) DO NOTHING RETURNING 1
    ), wallet AS (
      INSERT INTO bench_peer_wallets AS w (environment_id, player_id, currency, balance)
      SELECT $1, $2, r.currency, r.amount FROM claim, unnest($8::text[], $9::bigint[]) AS r(currency, amount)
      ON CONFLICT (environment_id, player_id, currency) DO UPDATE SET balance = w.balance + excluded.balance
      RETURNING w.currency, w.balance, w.balance - coalesce(old.balance, 0) AS amount
    ), entry AS (
      INSERT INTO bench_peer_wallet_ledger
        (environment_id, player_id, id, currency, amount, balance, reason, reference)
      SELECT $1, $2, uuidv7(), currency, amount, balance, 'tier_claim', $10 FROM wallet
    )
    SELECT FROM claim`,
  )
  /** Why a tier was not granted. */
  const findClaim = prepare(
    'find-claim',
    `SELECT c.granted, p.xp >= $5::bigint, p.premium_owned FROM (SELECT) AS always
    LEFT JOIN bench_peer_passes p ON ${here('p')}
    LEFT JOIN bench_peer_tier_claims c ON ${here('c')} AND c.level = $3 AND c.track = $4`,
  )
  const buy = prepare(
    'buy',
    // Ownership is written first: the second of two concurrent purchases waits for that row and then finds it owned. A
    // concurrent debit or key fails the whole statement.
    `WITH funds AS (
      SELECT FROM bench_peer_wallets w
      WHERE w.environment_id = $1 AND w.player_id = $2 AND w.currency = ${currency} AND w.balance >= ${price}
    ), pass AS (
      INSERT INTO bench_peer_passes AS p (environment_id, player_id, scenario_id, node_id, level, premium_owned)
      SELECT $1, $2, ${place}, ${levelOf('0::bigint')}, true FROM funds
      ON CONFLICT (environment_id, player_id, scenario_id, node_id) DO UPDATE SET premium_owned = true
      WHERE NOT p.premium_owned RETURNING 1
    ), wallet AS (
      UPDATE bench_peer_wallets w SET balance = w.balance - ${price} FROM pass
      WHERE w.environment_id = $1 AND w.player_id = $2 AND w.currency = ${currency} RETURNING w.balance
    ), entry AS (
      INSERT INTO bench_peer_wallet_ledger
        (environment_id, player_id, id, currency, amount, balance, reason, reference)
      SELECT $1, $2, uuidv7(), ${currency}, -${price}, balance, 'premium_purchase',
        ${pg.escapeLiteral(`${scenarioId}/${nodeId}`)} FROM wallet
    ), key AS (
      INSERT INTO bench_peer_idempotency_keys (environment_id, player_id, operation, key, request, response)
      SELECT $1, $2, 'premium', $4, $3::uuid::text, 'bought' FROM pass WHERE $4::text IS NOT NULL
    ), stream AS (
      UPDATE bench_peer_streams s SET position = s.position + 1 FROM (SELECT pg_advisory_xact_lock(1) FROM wallet) AS turn
      WHERE s.environment_id = $1 RETURNING s.position
    ), event AS (
      INSERT INTO bench_peer_events
        (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data)
      SELECT $1, position, 'crossing', 'onPremiumPurchase', $2, ${place}, $3,
        '{"price":{"currency":${JSON.stringify(premium.price.currency)},"amount":${price}}}' FROM stream
    )
    SELECT FROM wallet`,
  )
  /** Why premium was not bought, or the earlier answer of the same purchase. */
  const findPurchase = prepare(
    'find-purchase',
    `SELECT k.request, p.premium_owned FROM (SELECT) AS always
    LEFT JOIN bench_peer_passes p ON ${here('p')}
    LEFT JOIN bench_peer_idempotency_keys k
      ON k.environment_id = $1 AND k.player_id = $2 AND k.operation = 'premium' AND k.key = $3`,
  )
  const progress = prepare(
    'progress',
    `SELECT p.xp, p.level, p.premium_owned, (
      SELECT string_agg(format('{"level":%s,"track":"%s"}', c.level, c.track), ',' ORDER BY c.level, c.track)
      FROM bench_peer_tier_claims c WHERE ${here('c')}
    ) FROM bench_peer_passes p WHERE ${here('p')}`,
  )

  function prepare(name, statement) {
    return (values) => pool.query({ name, text: statement, values, rowMode: 'array' })
  }
  const claimed = (alreadyClaimed, granted) =>
    `{"success":true,"alreadyClaimed":${alreadyClaimed},"error":null,"granted":${granted}}`
  const notClaimed = (error) => `{"success":false,"alreadyClaimed":false,"error":"${error}","granted":[]}`
  const notBought = (error) => `{"success":false,"error":"${error}","plan":null}`
  const BOUGHT = '{"success":true,"error":null,"plan":null}'

  const calls = {
    xp: {
      fields: { runId, amount: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, source: text(0, 64) },
      async answer(environmentId, playerId, body) {
        const { rows } = await addXp([environmentId, playerId, body.amount, body.runId, body.source])
        const [level, xp, leveledUp] = rows[0]
        return `{"level":${level},"xp":${xp},"leveledUp":${leveledUp},"maxLevel":${level === levels.length},"plan":null}`
      },
    },
    claim: {
      fields: { runId, level: { type: 'integer', minimum: 0 }, track: { enum: ['free', 'premium'] } },
      async answer(environmentId, playerId, body) {
        const { level, track } = body
        const tier = tiers.get(`${track} ${level}`)
        if (!tier) return notClaimed('tier not found')
        const { granted, xp, currencies, amounts } = tier
        if (!currencies) throw refusal(501, 'tiers that grant items are left out')
        const reference = `${scenarioId}/${nodeId}/${track}/${level}`
        const values = [environmentId, playerId, level, track, granted, body.runId, xp, currencies, amounts, reference]
        if ((await claim(values)).rowCount === 1) return claimed(false, granted)
        const { rows } = await findClaim([environmentId, playerId, level, track, xp])
        const [grantedThen, isReached] = rows[0]
        if (grantedThen !== null) return claimed(true, grantedThen)
        return notClaimed(isReached ? 'premium required' : 'level not reached')
      },
    },
    premium: {
      fields: { runId, idempotencyKey: text(1, 255) },
      async answer(environmentId, playerId, { runId, idempotencyKey = null }) {
        const { rowCount } = await buy([environmentId, playerId, runId, idempotencyKey]).catch((error) => {
          // 23514: the balance would be negative. 23505: the key is taken.
          if (error.code === '23514' || error.code === '23505') return { rowCount: 0 }
          throw error
        })
        if (rowCount === 1) return BOUGHT
        const { rows } = await findPurchase([environmentId, playerId, idempotencyKey])
        const [request, isOwned] = rows[0]
        if (request !== null) return request === runId ? BOUGHT : notBought('idempotency key reused')
        return notBought(isOwned ? 'premium already owned' : 'insufficient funds')
      },
    },
    progress: {
      fields: {},
      async answer(environmentId, playerId) {
        const { rows } = await progress([environmentId, playerId])
        const [xp, level, isOwned, tiers] = rows[0] ?? [0, 1, false, null]
        return `{"level":${level},"xp":${xp},"premiumOwned":${isOwned},"claimedTiers":[${tiers ?? ''}]}`
      },
    },
  }
  return { nodeId, calls }
}

/** A tier in the form of its statement's parameters: the rewards as arrays, and the xp of its level. */
function readTier({ level, rewards }, levels) {
  const granted = rewards.map(({ amount, currency = null, itemId = null }) => ({ amount, currency, itemId }))
  const isMoney = rewards.every(({ currency }) => currency)
  return {
    granted: JSON.stringify(granted),
    xp: levels[level - 1].xp,
    currencies: isMoney ? `{${rewards.map(({ currency }) => JSON.stringify(currency)).join(',')}}` : null,
    amounts: `{${rewards.map(({ amount }) => amount).join(',')}}`,
  }
}

process.once('message', async (setup) => process.send({ port: await serve(setup) }))
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
