import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import type { Fault } from '../../base/errors.ts'
import {
  isSlug,
  MAX_AVATAR_URL,
  MAX_IDENTITY_PROVIDER,
  MAX_IMPORT_LINES,
  MAX_NAME,
  MAX_SUBJECT,
  MAX_TAG,
  SLUG,
} from '../../base/limits.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { answer, out } from '../../declare/answer.ts'
import { environment, reason } from '../../declare/common.ts'
import { operatorParameter, projectId, reasonParameter, requiredQuery } from '../../declare/contract.ts'
import type { Line } from '../../declare/request.ts'
import type { PlatformHandler, PlatformRequest } from '../../declare/route.ts'
import { optional, type RequestOf, refuseFaults, shape, text } from '../../declare/shape.ts'
import { InputSource } from '../../declare/source.ts'
import { addUnknownMembers } from '../../declare/unknown-names.ts'
import { DEFAULT_PROVIDER, providerRef } from '../providers/provider-ref.ts'
import { importPlayer } from './import-players.ts'

// Players of the studio's former service, as lines of JSON.

/** Maximum number of faulty lines reported. */
const MAX_FAULTY_LINES = 100
/** Maximum number of players imported at a time, so that the calls of players find connections of the database. */
const AT_A_TIME = 500

const importedPlayer = shape(
  {
    provider: optional(
      text(
        'The provider by which it logs in: `custom` for the custom provider `default`, `custom:` and the name of another one, `google`, `apple`, or `oidc:` and the name of an issuer. Default: `custom`.',
        { max: MAX_IDENTITY_PROVIDER, check: providerFault },
      ),
      'custom',
    ),
    subject: text("The provider's own id of the player: for `custom`, the `subject` of your webhook.", {
      max: MAX_SUBJECT,
    }),
    nickname: optional(text('The nickname.', { max: MAX_NAME })),
    avatarUrl: optional(text('The address of the picture.', { max: MAX_AVATAR_URL })),
    region: optional(text('The region, such as `eu-west`.', { max: MAX_TAG })),
    language: optional(text('The language, such as `pt-BR`.', { max: MAX_TAG })),
  },
  { name: 'ImportedPlayer', example: { provider: 'custom', subject: 'player-1', nickname: 'Ada', region: 'eu-west' } },
)
type ImportedPlayer = RequestOf<typeof importedPlayer>

/** The name of a provider in identities. Guests are not imported: their ids are secrets of their devices. */
function providerFault(provider: string): string | undefined {
  const [kind = '', name, ...more] = provider.split(':')
  const isNamed = name !== undefined && more.length === 0 && isSlug(name)
  if (kind === 'oidc' && isNamed) return undefined
  if (kind === 'custom' && (name === undefined || (isNamed && name !== DEFAULT_PROVIDER))) return undefined
  if (name === undefined && kind !== 'device' && providerRef(kind).kind === kind) return undefined
  return `must be custom, google or apple, or custom: or oidc: and a name that matches ${SLUG.source}`
}

const querySchema = shape({ environment, reason: optional(reason) })

const imported = answer(
  'The result of an import.',
  {
    created: out.int32('Players that are new.'),
    existing: out.int32('Lines whose subject had a player already, which stays as it is.'),
  },
  { name: 'ImportedPlayers', example: { created: 9_998, existing: 2 } },
)

/** POST /platform/v1/projects/{projectId}/players.ndjson?environment=&reason= */
export const postPlayers: PlatformHandler = {
  contract: {
    id: 'importPlayers',
    tag: 'Platform',
    summary: `Import players with an identity each, one JSON object a line, up to ${MAX_IMPORT_LINES} lines. Send the same lines again after a failure: those that were imported are counted as existing.`,
    body: importedPlayer,
    bodyType: 'application/x-ndjson',
    answer: imported,
    parameters: [
      projectId,
      requiredQuery('environment', 'The environment, such as `production`.'),
      reasonParameter,
      operatorParameter,
    ],
  },
  audited: { action: ACTIONS.importPlayers, target: () => 'players' },
  run: importPlayers,
}

async function importPlayers({ caller, query, lines, service }: PlatformRequest) {
  const faults: Fault[] = []
  const asked = querySchema.gather(new InputSource(Object.fromEntries(query)), faults)
  const sent = await lines(MAX_IMPORT_LINES)
  const players = read(sent, faults)
  refuseFaults(faults)
  const environmentId = await findEnvironment(service.pool, caller.projectId, asked.environment)
  await writeAudit(service.operatorPool, caller, {
    action: ACTIONS.importPlayers,
    target: asked.environment,
    environmentId,
    reason: asked.reason,
    before: null,
    after: { lines: players.length },
  })
  let created = 0
  for (let from = 0; from < players.length; from += AT_A_TIME) {
    const settled = await Promise.allSettled(
      players
        .slice(from, from + AT_A_TIME)
        .map(({ provider, subject, ...profile }) =>
          service.run(importPlayer(caller, { environmentId, provider, subject }, profile)),
        ),
    )
    for (const one of settled) {
      if (one.status === 'rejected') throw one.reason
      if (one.value) created += 1
    }
  }
  return { created, existing: players.length - created }
}

/** The players of the lines. The fault of a line names its number, from 1. */
function read(lines: readonly Line[], faults: Fault[]): ImportedPlayer[] {
  const players: ImportedPlayer[] = []
  let faulty = 0
  for (const line of lines) {
    const found: Fault[] = []
    if ('fault' in line) found.push({ path: '', message: line.fault })
    else {
      addUnknownMembers(found, line.source.values, importedPlayer.schema)
      players.push(importedPlayer.gather(line.source, found))
    }
    if (found.length === 0) continue
    faulty += 1
    const place = `line ${line.number}`
    if (faulty <= MAX_FAULTY_LINES)
      for (const { path, message } of found) faults.push({ path: path === '' ? place : `${place}.${path}`, message })
  }
  if (faulty > MAX_FAULTY_LINES)
    faults.push({ path: '', message: `${faulty - MAX_FAULTY_LINES} more lines have faults` })
  if (lines.length === 0) faults.push({ path: '', message: 'the body must have a line' })
  return players
}
