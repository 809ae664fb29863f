import type { ClientBase, Pool } from 'pg'
import { newWebhookId, type Webhook } from '../../accounts/webhook/webhook.ts'
import { newUrlFault } from '../../accounts/webhook/webhook-url.ts'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { print } from '../../base/json.ts'
import { MAX_ALERT_WEBHOOKS } from '../../base/limits.ts'
import { generateSecret, type SecretContext, type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { type InEnvironment, lockEnvironment } from '../../callers/projects.ts'
import { databaseTime, newId } from '../../db/ids.ts'
import type { Transaction } from '../../db/prisma.ts'
import type { Change } from '../../declare/change.ts'
import { type RequestOf, refuseFaults } from '../../declare/shape.ts'
import type {
  AlertFormat,
  createAlertWebhookRequest,
  deleteAlertWebhookRequest,
  updateAlertWebhookRequest,
} from './requests.ts'
import type { AlertAttempt, AlertSender, AlertTarget } from './send-message.ts'

// The alert webhooks of an environment. A change is written with its audit entry, which has no address and no secret.

interface AlertWebhookDeps {
  readonly secrets: Secrets
  readonly webhook: Pick<Webhook, 'mayCall'>
}

/** What a change has: the transaction, who changes something, and what the service seals and checks addresses with. */
interface Changing extends Transaction {
  readonly caller: PlatformCaller
  readonly service: AlertWebhookDeps
}

interface Stored {
  readonly id: string
  readonly name: string
  readonly format: AlertFormat
  /** Sealed. */
  readonly url: string
  readonly host: string
  /** Sealed. */
  readonly secret: string | null
  readonly link: string | null
  readonly kinds: readonly string[]
  readonly enabled: boolean
}

/** Why a webhook cannot be called. */
export const UNREADABLE =
  'has an address or a secret under a key that SECRETS_KEYS lacks: set the address, and make a new secret'

type AlertWebhookChange = Change<{
  readonly alertWebhook: string | null
  /** A generated secret, for this answer alone. Null when none was made. */
  readonly secret: string | null
}>

const unchanged = (alertWebhook: string): AlertWebhookChange => ({ outcome: { alertWebhook, secret: null } })

const contextOf = (projectId: string, environmentId: string, kind: string, id: string): SecretContext => ({
  projectId,
  environmentId,
  kind: `alert_webhook.${kind}`,
  name: id,
})

/** The address and the secret, to send with. Undefined when `SECRETS_KEYS` lacks the key that they are under. */
export function openTarget(
  secrets: Secrets,
  { projectId, environmentId }: Readonly<Record<'projectId' | 'environmentId', string>>,
  { id, format, url: sealed, secret }: Pick<Stored, 'id' | 'format' | 'url' | 'secret'>,
): AlertTarget | undefined {
  const url = tryToOpen(secrets, sealed, contextOf(projectId, environmentId, 'url', id))
  const opened = secret === null ? null : tryToOpen(secrets, secret, contextOf(projectId, environmentId, 'secret', id))
  return url === undefined || opened === undefined ? undefined : { format, url, secret: opened }
}

/** Makes an alert webhook. Refuses a name that is taken, unless all is the same: then nothing changes. */
export const createAlertWebhook = (
  { db, client, caller, service: deps }: Changing,
  { environmentId, url, ...sent }: InEnvironment<RequestOf<typeof createAlertWebhookRequest>>,
): Promise<AlertWebhookChange> =>
  change(client, environmentId, async (webhooks) => {
    const { projectId } = caller
    const values = { ...sent, kinds: unique(sent.kinds), host: new URL(url).host, enabled: true }
    const known = webhooks.find(({ name }) => name === values.name)
    const isSame =
      known && print(shown(known)) === print(shown(values)) && openUrl(deps, caller, environmentId, known) === url
    if (isSame) return unchanged(known.id)
    const faults: Fault[] = urlFaults(deps, url)
    if (known) faults.push({ path: 'name', message: 'is the name of another alert webhook' })
    if (webhooks.length >= MAX_ALERT_WEBHOOKS) {
      const message = `has ${MAX_ALERT_WEBHOOKS} alert webhooks, the most that it can have`
      faults.push({ path: 'environment', message })
    }
    refuseFaults(faults)

    const id = newId()
    const secret = values.format === 'standard' ? generateSecret() : null
    const { name, format, host, link, kinds, enabled } = values
    const sealed = {
      url: deps.secrets.seal(url, contextOf(projectId, environmentId, 'url', id)),
      secret: secret && deps.secrets.seal(secret, contextOf(projectId, environmentId, 'secret', id)),
    }
    await db.alertWebhook.create({ data: { id, environmentId, name, format, host, link, kinds, enabled, ...sealed } })
    return { outcome: { alertWebhook: id, secret }, target: id, before: null, after: shown(values) }
  })

/** The next look is at once. The instance of the last one cannot write its result any more. */
const WITHOUT_FAILURES = { lookedAt: null, failures: 0, failure: null, failingSince: null, nextAttemptAt: null }

/**
 * Changes the members that are sent. Another address or secret, and being enabled again, begin without failures. One
 * that is disabled forgets which problems were reported.
 */
export const updateAlertWebhook = (
  { db, client, caller, service: deps }: Changing,
  { environmentId, alertWebhookId, ...sent }: InEnvironment<RequestOf<typeof updateAlertWebhookRequest>>,
): Promise<AlertWebhookChange> =>
  change(client, environmentId, async (webhooks) => {
    const { projectId } = caller
    const before = requireWebhook(webhooks, alertWebhookId)
    const url = sent.url === null || sent.url === openUrl(deps, caller, environmentId, before) ? null : sent.url
    const after = {
      format: before.format,
      name: sent.name ?? before.name,
      host: url === null ? before.host : new URL(url).host,
      link: sent.link === null ? before.link : sent.link || null,
      kinds: sent.kinds ? unique(sent.kinds) : before.kinds,
      enabled: sent.enabled ?? before.enabled,
    }
    const faults: Fault[] = url === null ? [] : urlFaults(deps, url)
    if (webhooks.some(({ id, name }) => id !== before.id && name === after.name))
      faults.push({ path: 'name', message: 'is the name of another alert webhook' })
    if (sent.newSecret && before.format !== 'standard')
      faults.push({ path: 'newSecret', message: 'is for the format STANDARD: the others sign nothing' })
    refuseFaults(faults)
    const secret = sent.newSecret ? generateSecret() : null
    if (url === null && secret === null && print(shown(before)) === print(shown(after))) return unchanged(before.id)

    const { name, host, link, kinds, enabled } = after
    const seal = (kind: string, value: string) =>
      deps.secrets.seal(value, contextOf(projectId, environmentId, kind, before.id))
    const begins = url !== null || secret !== null || enabled !== before.enabled
    await db.alertWebhook.update({
      where: { id: before.id },
      data: {
        name,
        host,
        link,
        kinds: [...kinds],
        enabled,
        updatedAt: databaseTime(),
        ...(url !== null && { url: seal('url', url) }),
        ...(secret !== null && { secret: seal('secret', secret) }),
        ...(begins && WITHOUT_FAILURES),
        ...(!enabled && { told: '[]', pending: null }),
      },
    })
    const changes = { ...(url !== null && { urlChanged: true }), ...(secret !== null && { secretChanged: true }) }
    const outcome = { alertWebhook: before.id, secret }
    return { outcome, target: before.id, before: shown(before), after: { ...shown(after), ...changes } }
  })

/** Removes an alert webhook. A message that was not sent yet is dropped. */
export const deleteAlertWebhook = (
  { db, client }: Transaction,
  { environmentId, alertWebhookId }: InEnvironment<RequestOf<typeof deleteAlertWebhookRequest>>,
): Promise<AlertWebhookChange> =>
  change(client, environmentId, async (webhooks) => {
    const before = requireWebhook(webhooks, alertWebhookId)
    await db.alertWebhook.delete({ where: { id: before.id } })
    const outcome = { alertWebhook: null, secret: null }
    return { outcome, target: before.id, before: shown(before), after: null }
  })

interface TestDeps extends Pick<AlertWebhookDeps, 'secrets'> {
  readonly operatorPool: Pool
  readonly sendAlert: AlertSender['send']
}

/** Sends a test, once. It changes nothing, also where the webhook is disabled. */
export async function testAlertWebhook(
  { operatorPool, secrets, sendAlert }: TestDeps,
  { projectId }: PlatformCaller,
  {
    environment,
    environmentId,
    alertWebhookId,
  }: Readonly<Record<'environment' | 'environmentId' | 'alertWebhookId', string>>,
): Promise<AlertAttempt> {
  const stored = requireWebhook(await readWebhooks(operatorPool, environmentId), alertWebhookId)
  const target = openTarget(secrets, { projectId, environmentId }, stored)
  if (!target) throw invalidRequest({ path: 'alertWebhookId', message: UNREADABLE })
  const { rows } = await operatorPool.query<{ name: string }>('SELECT name FROM projects WHERE id = $1', [projectId])
  const at = new Date().toISOString()
  const about = { project: rows[0]?.name ?? '', environment, link: stored.link }
  return sendAlert(target, { id: newWebhookId(), at, ...about, isTest: true, began: [], ended: [] })
}

/** For the audit log. */
const shown = ({ name, format, host, link, kinds, enabled }: Omit<Stored, 'id' | 'url' | 'secret'>) => ({
  name,
  format,
  host,
  link,
  enabled,
  kinds: [...kinds],
})

const unique = (kinds: readonly string[]): string[] => [...new Set(kinds)]

/** Undefined for one that is under a key that `SECRETS_KEYS` lacks: it is replaced by any other. */
const openUrl = (
  { secrets }: AlertWebhookDeps,
  { projectId }: PlatformCaller,
  environmentId: string,
  { id, url }: Stored,
): string | undefined => tryToOpen(secrets, url, contextOf(projectId, environmentId, 'url', id))

function urlFaults({ webhook }: AlertWebhookDeps, url: string): Fault[] {
  const message = newUrlFault(url, webhook.mayCall)
  return message === undefined ? [] : [{ path: 'url', message }]
}

function requireWebhook(webhooks: readonly Stored[], id: string): Stored {
  const found = webhooks.find((one) => one.id === id)
  if (!found) throw new Refusal('notFound')
  return found
}

async function readWebhooks(pool: ClientBase | Pool, environmentId: string): Promise<Stored[]> {
  const { rows } = await pool.query<Stored>(
    'SELECT id, name, format, url, host, secret, link, kinds, enabled FROM alert_webhooks WHERE environment_id = $1',
    [environmentId],
  )
  return rows
}

/** Changes of one environment's webhooks run one after another. Other calls that refer to the environment do not wait. */
async function change(
  client: ClientBase,
  environmentId: string,
  apply: (webhooks: readonly Stored[]) => Promise<AlertWebhookChange>,
): Promise<AlertWebhookChange> {
  await lockEnvironment(client, environmentId)
  return apply(await readWebhooks(client, environmentId))
}
