import { hash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PrismaPg } from '@prisma/adapter-pg'
import { uuidv7 } from 'uuidv7'
import { readConfig } from '../src/base/config.ts'
import { print } from '../src/base/json.ts'
import { createTokens } from '../src/callers/tokens.ts'
import { PrismaClient } from '../src/db/generated/prisma/client.ts'
import { createPool } from '../src/db/pool.ts'
import { decideXp, newPass } from '../src/game/battlepass/decide.ts'
import type { Definition } from '../src/game/definition/definition.ts'
import { parseDefinition } from '../src/game/definition/parse.ts'

// The reference: the xp endpoint written the usual way, one interactive transaction of Prisma for each request. It is
// well made: a plain node:http server, cached tokens and definitions, prepared statements, the service's pool and
// tables. It does less than the service: no request ids, no idempotency keys, no walk of the scenario, no metrics and
// no live events.

const config = readConfig(process.env)
const pool = createPool({
  url: config.databaseUrl ?? '',
  connections: config.databaseConnections,
  onError: (error) => process.stderr.write(`${error.message}\n`),
})
const statementNameGenerator = ({ sql }: { readonly sql: string }) => hash('sha1', sql, 'base64url')
const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { statementNameGenerator }) })
const tokens = await createTokens({
  keys: config.tokenKeys ?? [],
  issuer: config.tokenIssuer,
  audience: config.tokenAudience,
})
const definitions = new Map<string, Definition>()

interface AddXp {
  readonly scenarioId: string
  readonly nodeId: string
  readonly runId: string
  readonly amount: number
  readonly source: string
}

interface Player {
  readonly environmentId: string
  readonly playerId: string
}

async function addXp({ environmentId, playerId }: Player, input: AddXp): Promise<string> {
  const { scenarioId, nodeId, runId, source } = input
  const amount = BigInt(input.amount)
  // With 256 connections, calls wait for a connection of the pool. That is load, not a fault.
  const patience = { maxWait: 30_000, timeout: 30_000 }
  return prisma.$transaction(async (tx) => {
    const [player] = await tx.$queryRaw<{ status: string; now: Date }[]>`
      SELECT status, clock_timestamp() AS now FROM players
      WHERE environment_id = ${environmentId}::uuid AND id = ${playerId}::uuid FOR NO KEY UPDATE`
    if (player?.status !== 'active') throw new Error('the player may not play')

    const scenario = await tx.scenario.findUniqueOrThrow({
      where: { environmentId_id: { environmentId, id: scenarioId } },
      select: { version: true },
    })
    const key = `${environmentId}/${scenarioId}/${scenario.version}`
    let definition = definitions.get(key)
    if (!definition) {
      const version = { environmentId, scenarioId, version: scenario.version }
      const stored = await tx.scenarioVersion.findUniqueOrThrow({
        where: { environmentId_scenarioId_version: version },
      })
      const parsed = parseDefinition(stored.definition)
      if (!parsed.ok) throw new Error('the definition does not parse')
      definition = parsed.definition
      definitions.set(key, definition)
    }
    const node = definition.nodes.get(nodeId)
    if (node?.type !== 'battle-pass') throw new Error('there is no such pass')

    const run = { environmentId_playerId_id: { environmentId, playerId, id: runId } }
    const { status } = await tx.run.findUniqueOrThrow({ where: run, select: { status: true } })
    if (status !== 'active') throw new Error('the run is not active')

    const place = { environmentId, playerId, scenarioId, nodeId }
    const where = { environmentId_playerId_scenarioId_nodeId: place }
    const stored = await tx.battlePass.findUnique({ where })
    // Claims count only at the top level, which no player reaches here.
    const pass = stored ? { ...newPass(node), xp: stored.xp, level: stored.level } : newPass(node)
    const decision = decideXp(node, pass, { amount, source, origin: 'client' }, player.now)
    if (decision.kind === 'refused') throw new Error(decision.reason)

    const { xp, level } = decision.next
    await tx.battlePass.upsert({ where, create: { ...place, xp, level }, update: { xp, level } })
    await tx.xpEntry.create({ data: { ...place, id: uuidv7(), runId, amount, source } })
    const { crossings } = decision
    if (crossings.length > 0) {
      await tx.run.update({ where: run, data: { plan: print({ crossed: crossings.map(({ handle }) => handle) }) } })
      const { position } = await tx.stream.upsert({
        where: { environmentId },
        create: { environmentId, position: crossings.length },
        update: { position: { increment: crossings.length } },
      })
      for (const [index, { handle, data }] of crossings.entries()) {
        // Prisma has no model of a table whose keys are in its partitions.
        await tx.$executeRaw`INSERT INTO events
            (environment_id, position, type, handle, player_id, scenario_id, node_id, run_id, data)
          VALUES (${environmentId}::uuid, ${position - BigInt(crossings.length - 1 - index)}, 'crossing', ${handle},
            ${playerId}::uuid, ${scenarioId}, ${nodeId}, ${runId}::uuid, ${print(data)})`
      }
    }
    const { leveledUp, maxLevel } = decision
    return print({ level, xp, leveledUp, maxLevel, plan: null })
  }, patience)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const server = createServer(async (request, response) => {
  let status = 200
  let answer: string
  try {
    const player = await tokens.verifyAccessToken(request.headers.authorization?.slice('Bearer '.length) ?? '')
    answer = await addXp(player, JSON.parse(await readBody(request)))
  } catch (error) {
    status = 500
    answer = JSON.stringify({ error: String(error) })
  }
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) })
  response.end(answer)
})

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
