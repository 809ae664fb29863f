import type { Role } from '../session/roles.ts'
import { number } from '../ui/words.ts'

export interface KeyRow {
  readonly id: string
  readonly keyId: string
  readonly prefix: string
  readonly label: string | null
  readonly createdAt: string
  readonly createdBy: string | null
  readonly revokedAt: string | null
  readonly revokedBy: string | null
}

const ACTOR = 'platform_key:'

/** Names the key behind a change: by its purpose or its beginning, else by the ends of its id. */
export function keyName(actor: string | null, known: readonly KeyRow[]): string {
  if (actor === null) return 'command line'
  const keyId = actor.startsWith(ACTOR) ? actor.slice(ACTOR.length) : actor
  const key = known.find((one) => one.keyId === keyId)
  return key ? (key.label ?? `${key.prefix}…`) : shortActor(actor)
}

/** `platform_key:01a2…f3c4`: the ends distinguish keys. */
export const shortActor = (actor: string): string => actor.replace(/:(\w{4})[\w-]+(\w{4})$/, ':$1…$2')

const others = (count: number, which: string): string =>
  count === 1 ? `One other valid key ${which} stays.` : `${number(count)} other valid keys ${which} stay.`

/** The effects of revoking an SDK key. `valid` counts the valid keys of its environment, with this one. */
export const sdkRevocation = (environment: string, valid: number | undefined): readonly string[] => [
  'In every game client that has this key, logins and the renewal of tokens fail from the next call on.',
  'Players who are logged in go on until their access token expires, at most 24 hours later.',
  ...(valid === undefined
    ? []
    : valid > 1
      ? [others(valid - 1, `of ${environment}`)]
      : [`It is the last valid key of ${environment}: no game client can log in until one with a new key is shipped.`]),
  'A revocation cannot be undone.',
]

/** The effects of revoking a server key. `valid` counts the valid keys of its environment, with this one. */
export const serverRevocation = (environment: string, valid: number | undefined): readonly string[] => [
  'The next call of every game server that has this key is refused.',
  ...(valid === undefined
    ? []
    : valid > 1
      ? [others(valid - 1, `of ${environment}`)]
      : [`It is the last valid key of ${environment}: no game server can call until it has a new one.`]),
  'A revocation cannot be undone.',
]

/** The effects of revoking a platform key. `valid` counts the valid keys of its role, with this one. */
export const platformRevocation = (
  role: Role,
  of: { readonly valid: number | undefined; readonly isOwn: boolean; readonly planned: readonly string[] },
): readonly string[] => [
  'The next call with this key is refused. Operator tokens that it made end with it, such as sessions of this console, and open connections close within two seconds.',
  ...(of.isOwn ? ['Your own session was made with this key: you are signed out, too.'] : []),
  ...(of.valid === undefined
    ? []
    : of.valid > 1
      ? [others(of.valid - 1, `with the role ${role.toLowerCase()}`)]
      : [
          `It is the last valid key with the role ${role.toLowerCase()}.${role === 'ADMIN' ? ' After that, only the command line can make keys.' : ''}`,
        ]),
  ...(of.planned.length === 0
    ? []
    : [`What was planned with it continues: ${of.planned.join(', ')}. Cancel what must not.`]),
  'A revocation cannot be undone.',
]
