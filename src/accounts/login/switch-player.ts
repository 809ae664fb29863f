import { hash } from 'node:crypto'
import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import { type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import { askStatus } from '../../players/player-status.ts'
import type { Group } from '../../transactions/group.ts'
import { askPolicy, readPolicy } from './account-policy.ts'
import { askOwner, type IdentityRef } from './identities.ts'
import { issueTokenPair, RefreshTokens, type TokenDeps, type TokenPair } from './refresh-tokens.ts'
import { type Approval, type CountDeps, counted, linkIdentity, logIn, type Proof } from './sign-in.ts'
import { askOnce } from './used-nonces.ts'

// A link can meet another player, who has the identity already. The link is refused. Where the policy of the environment
// says so, its answer has a ticket with which the client can sign in to that player instead. The ticket stands for two
// proofs: the login of the caller, and the identity that the provider has just confirmed. It has nothing else of what
// the provider said, and no provider is asked again.

const TICKET_MS = 10 * 60_000

/** What a ticket holds, sealed for its project and environment. */
interface Ticket {
  readonly playerId: string
  readonly familyId: string | null
  readonly provider: string
  readonly identity: Pick<IdentityRef, 'provider' | 'subject'>
  readonly expiresAt: number
}

interface SwitchDeps extends TokenDeps, CountDeps {
  readonly secrets: Secrets
}

interface LinkDeps extends Pick<SwitchDeps, 'run' | 'secrets'> {
  readonly pool: Pool
}

const contextOf = ({ projectId, environmentId }: Pick<ClientRef, 'projectId' | 'environmentId'>) => ({
  projectId,
  environmentId,
  kind: 'ticket',
  name: 'switch',
})

/** Links an identity. The refusal of one that another player has brings a ticket, where the environment allows it. */
export async function link(
  { run, secrets, pool }: LinkDeps,
  approval: Approval,
  caller: PlayerCaller,
): Promise<IdentityRef> {
  try {
    await run(linkIdentity(approval, caller))
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'identityAlreadyLinked') throw error
    if (!(await readPolicy(pool, caller.environmentId)).linkTickets) throw error
    const { kind, about } = error
    throw new Refusal(kind, { about, facts: { conflict: conflictOf(secrets, approval, caller) } })
  }
  return approval.identity
}

function conflictOf(secrets: Secrets, { client, identity, attempt }: Approval, caller: PlayerCaller) {
  const expiresAt = Date.now() + TICKET_MS
  const { provider, subject } = identity
  const ticket: Ticket = {
    playerId: caller.playerId,
    familyId: caller.familyId,
    provider: attempt.provider,
    identity: { provider, subject },
    expiresAt,
  }
  return {
    ticket: secrets.seal(JSON.stringify(ticket), contextOf(client)),
    expiresAt: new Date(expiresAt).toISOString(),
  }
}

/**
 * Signs in to the player that has the identity of a ticket, as a login with that identity would. The ticket works once,
 * for the login that it was given to. The caller's own login continues.
 */
export async function switchPlayer(
  deps: SwitchDeps,
  client: ClientRef,
  caller: PlayerCaller,
  { ticket: sealed, deviceName }: { readonly ticket: string; readonly deviceName: string | null },
): Promise<TokenPair> {
  return counted(deps, 'login', async () => {
    const opened = tryToOpen(deps.secrets, sealed, contextOf(client))
    const ticket = opened === undefined ? undefined : (JSON.parse(opened) as Ticket)
    if (ticket?.playerId !== caller.playerId || ticket.familyId !== caller.familyId)
      throw rejected('must be one that this login was given')
    const input = { nickname: null, region: null, language: null, deviceName }
    const approval = approvalOf(client, caller, ticket, hash('sha256', sealed, 'base64url'))
    return issueTokenPair(deps.tokens, client, await deps.run(logIn(approval, input)))
  })
}

function approvalOf(
  client: ClientRef,
  caller: PlayerCaller,
  { provider, identity: { provider: boundAs, subject }, expiresAt }: Ticket,
  ticketHash: string,
): Approval {
  const { environmentId } = client
  const identity = { environmentId, provider: boundAs, subject }
  return {
    client,
    identity,
    answer: { subject, nickname: null, avatarUrl: null, data: new Map(), claims: null },
    attempt: { environmentId, operation: 'login', provider, milliseconds: 0, attempts: [], subject, notes: [] },
    ask: (group) => askTicket(group, caller, identity, { ticketHash, expiresAt }),
  }
}

/** Asks for what a ticket stands for, under the locks of its subject and of its player. */
function askTicket(
  group: Group,
  caller: PlayerCaller,
  identity: IdentityRef,
  { ticketHash, expiresAt }: { readonly ticketHash: string; readonly expiresAt: number },
): Proof {
  askStatus(group.player(caller))
  const requireLogin = group.of(RefreshTokens).askLogin(caller)
  const policy = askPolicy(group, identity)
  const owner = askOwner(group, identity)
  const once = askOnce(group, identity, ticketHash)
  return {
    require() {
      requireLogin()
      if (!policy().linkTickets) throw rejected('must be of an environment that takes tickets')
      if (expiresAt <= Date.now()) throw rejected('has expired')
      if (once.isUsed()) throw rejected('was used before')
      if (!owner) throw rejected('must be of an identity that a player has: it was removed')
    },
    use: once.use,
  }
}

const rejected = (message: string): Refusal =>
  new Refusal('ticketRejected', { faults: [{ path: 'ticket', message }], cause: `the ticket ${message}` })
