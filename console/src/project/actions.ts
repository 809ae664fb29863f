import { isPlayerId } from '../players/names.ts'

/** Actions of the audit log, in words. docs/access.md lists them with their targets. */
const TITLES: Readonly<Record<string, string>> = {
  'player.ban': 'Ban a player',
  'player.unban': 'Unban a player',
  'player.delete': 'Delete a player',
  'player.end_sessions': 'End a player’s sessions',
  'player.unlink_identity': 'Unlink an identity',
  'player.credit_wallet': 'Credit a wallet',
  'player.debit_wallet': 'Debit a wallet',
  'player.grant_xp': 'Grant xp',
  'player.grant_tier': 'Grant a tier',
  'player.reset_tier': 'Reset a tier',
  'player.reset_reward': 'Reset a reward',
  'player.grant_premium': 'Grant premium',
  'player.revoke_premium': 'Revoke premium',
  'player.reset_pass': 'Reset a pass',
  'player.cancel_run': 'Cancel a run',
  'player.cross_handle': 'Cross a handle',
  'player.grant_boost': 'Grant a personal boost',
  'player.end_boost': 'End a personal boost',
  'player.set_storage': 'Write a player’s storage',
  'player.delete_storage': 'Delete from a player’s storage',
  'player.send_message': 'Send a message to a player',
  'player.withdraw_message': 'Withdraw a message from a player',
  'player.add_note': 'Add a note about a player',
  'player.remove_note': 'Remove a note about a player',
  'players.export': 'Export players',
  'players.import': 'Import players',
  'segment.create': 'Make a segment',
  'segment.update': 'Change a segment',
  'segment.delete': 'Delete a segment',
  'view.share': 'Share a view',
  'view.remove': 'Remove a shared view',
  'player_list.create': 'Upload a list of players',
  'grant_policy.set': 'Set the policy of approvals',
  'publish_policy.set': 'Set the approval of publications',
  'scenario_draft.create': 'Share a draft',
  'scenario_draft.save': 'Change a shared draft',
  'scenario_draft.enter': 'Open a shared draft',
  'scenario_draft.comment': 'Comment on a shared draft',
  'scenario_draft.approve': 'Approve a shared draft',
  'scenario_draft.delete': 'Delete a shared draft',
  'role_limits.set': 'Set the limits of a role',
  'single_sign_on.set': 'Set single sign-on',
  'single_sign_on.remove': 'Remove single sign-on',
  'single_sign_on.read': 'Read single sign-on',
  'grant_job.create': 'Make a grant job',
  'grant_job.approve': 'Approve a grant job',
  'grant_job.pause': 'Pause a grant job',
  'grant_job.resume': 'Resume a grant job',
  'grant_job.cancel': 'Cancel a grant job',
  'grant_job.undo': 'Undo a grant job',
  'grant_job.export': 'Export a grant job',
  'scenario.publish': 'Publish a scenario',
  'scenario.clone': 'Clone a scenario',
  'scenario.schedule': 'Plan a publication',
  'scenario.cancel_schedule': 'Cancel a planned publication',
  'auth_providers.set': 'Set login providers',
  'auth_providers.rotate_secret': 'Rotate a provider’s secret',
  'sdk_key.create': 'Make an SDK key',
  'sdk_key.revoke': 'Revoke an SDK key',
  'server_key.create': 'Make a server key',
  'server_key.revoke': 'Revoke a server key',
  'platform_key.create': 'Make a platform key',
  'platform_key.revoke': 'Revoke a platform key',
  'operator_token.create': 'Sign in',
  'environment.create': 'Create an environment',
  'environment.set_clock': 'Set the clock of an environment',
  'project.rename': 'Rename the project',
  'currency.add': 'Add a currency',
  'currency.remove': 'Remove a currency',
  'currency.set_credit_limit': 'Limit credits of a currency',
  'boost.create': 'Create a boost',
  'boost.update': 'Change a boost',
  'boost.end': 'End a boost',
  'account_policy.set': 'Set the policy of accounts',
  'alert_webhook.create': 'Make an alert webhook',
  'alert_webhook.update': 'Change an alert webhook',
  'alert_webhook.delete': 'Delete an alert webhook',
}

/** Actions that the log has only when they were denied. */
const DENIED_TITLES: Readonly<Record<string, string>> = {
  'auth_providers.test': 'Test a provider',
  'alert_webhook.test': 'Test an alert webhook',
  'single_sign_on.test': 'Test single sign-on',
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

/** The choices of a filter: each action, then each denied attempt. Keeps an unknown choice of the address. */
export function actionChoices(current: string): readonly (readonly [value: string, text: string])[] {
  const done = Object.entries(TITLES)
  const denied = [...done, ...Object.entries(DENIED_TITLES)].map(
    ([action, title]) => [`${action}${DENIED}`, `Denied: ${title}`] as const,
  )
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
