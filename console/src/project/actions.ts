import { isPlayerId } from '../players/names.ts'
import { CALLS, DENIED_CALLS } from './action-titles.ts'

/** Actions of the audit log, in words: those of declared calls, and others. docs/access.md lists them with their targets. */
const TITLES: Readonly<Record<string, string>> = {
  ...CALLS,
  'players.export': 'Export players',
  'players.import': 'Import players',
  'player_list.create': 'Upload a list of players',
  'single_sign_on.read': 'Read single sign-on',
  'grant_job.export': 'Export a grant job',
}

/** Actions that the log has only when they were denied. */
const DENIED_TITLES: Readonly<Record<string, string>> = {
  ...DENIED_CALLS,
  'audit_log.read': 'Read the audit log',
  'sdk_key.read': 'List SDK keys',
  'server_key.read': 'List server keys',
  'platform_key.read': 'List platform keys',
  'battle_pass.add_xp': 'Add xp as a player',
  'battle_pass.claim_tier': 'Claim a tier as a player',
  'battle_pass.claim_all': 'Claim all tiers as a player',
  'battle_pass.purchase_premium': 'Buy premium as a player',
  'run.start': 'Start a run as a player',
  'run.cross_handle': 'Cross a handle as a player',
  'storage.set': 'Write storage as a player',
  'storage.delete': 'Delete storage as a player',
  'identity.link': 'Link an identity as a player',
  'identity.switch': 'Switch the player as a player',
  'identity.unlink': 'Unlink an identity as a player',
  'player.update': 'Change the profile as a player',
  'player.export': 'Export the data as a player',
  'sessions.end': 'End sessions as a player',
}

const DENIED = '.denied'

export const isDenied = (action: string): boolean => action.endsWith(DENIED)

const attempted = (action: string): string => (isDenied(action) ? action.slice(0, -DENIED.length) : action)

/** An action or a denied attempt, in words. For an action of a newer service, its name. */
export function actionTitle(action: string): string {
  const known = attempted(action)
  return TITLES[known] ?? DENIED_TITLES[known] ?? known
}

/** The choices of a filter: each action by its title, then each denied attempt. Keeps an unknown choice of the address. */
export function actionChoices(current: string): readonly (readonly [value: string, text: string])[] {
  const byTitle = ([, a]: readonly [string, string], [, b]: readonly [string, string]) => a.localeCompare(b)
  const done = Object.entries(TITLES).sort(byTitle)
  const denied = [...done, ...Object.entries(DENIED_TITLES)]
    .sort(byTitle)
    .map(([action, title]) => [`${action}${DENIED}`, `Denied: ${title}`] as const)
  const choices = [['', 'all'] as const, ...done, ...denied]
  return choices.some(([action]) => action === current) ? choices : [...choices, [current, current]]
}

const KEYS: ReadonlySet<string | undefined> = new Set(['sdk_key', 'server_key', 'platform_key', 'operator_token'])

/** The id of the player that an action changed; undefined for any other target. */
export function targetPlayer({ action, target }: { readonly action: string; readonly target: string }) {
  return attempted(action).startsWith('player.') && isPlayerId(target) ? target : undefined
}

/** The address of an action's target; undefined when no page shows it. */
export function targetHref(entry: {
  readonly action: string
  readonly target: string
  readonly environment: string | null
}): string | undefined {
  const { target, environment } = entry
  const action = attempted(entry.action)
  const [kind] = action.split('.')
  if (target === '') return undefined
  if (KEYS.has(kind)) return '/project/keys?revoked=yes'
  if (kind === 'environment' || kind === 'project') return '/project/environments'
  if (environment === null) return undefined
  const place = `/env/${encodeURIComponent(environment)}`
  if (kind === 'player') return `${place}/players/${encodeURIComponent(target)}`
  if (kind === 'players') return `${place}/players`
  if (kind === 'scenario') return `${place}/scenarios/${encodeURIComponent(target)}`
  if (kind === 'auth_providers') return `${place}/providers`
  return undefined
}
