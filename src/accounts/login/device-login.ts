import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { Secrets } from '../../base/secrets.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import { findDevice } from '../providers/device.ts'
import type { IdentityRef } from './identities.ts'
import { issueTokenPair, type TokenDeps, type TokenPair } from './refresh-tokens.ts'
import { type Approval, type CountDeps, counted, type LoginInput, logIn } from './sign-in.ts'
import { link } from './switch-player.ts'

// Logins of guests: an id that the device made at random names the subject. Nobody else vouches for it.

export interface DeviceDeps extends TokenDeps, CountDeps {
  readonly pool: Pool
  readonly secrets: Secrets
}

export async function loginDevice(
  deps: DeviceDeps,
  client: ClientRef,
  input: { readonly deviceId: string } & LoginInput,
): Promise<TokenPair> {
  return counted(deps, 'login', async () => {
    const approval = await approve(deps, 'login', client, input.deviceId)
    return issueTokenPair(deps.tokens, client, await deps.run(logIn(approval, input)))
  })
}

/** Links the id of a device to a player, who can then log in from it as a guest does. */
export async function linkDevice(
  deps: DeviceDeps,
  client: ClientRef,
  player: PlayerCaller,
  { deviceId }: { readonly deviceId: string },
): Promise<IdentityRef> {
  return counted(deps, 'link', async () => {
    const approval = await approve(deps, 'link', client, deviceId)
    return link(deps, approval, player)
  })
}

async function approve(
  deps: DeviceDeps,
  operation: Approval['attempt']['operation'],
  client: ClientRef,
  deviceId: string,
): Promise<Approval> {
  const { environmentId } = client
  const subjectOf = await findDevice(deps, client)
  if (!subjectOf) throw new Refusal('signInDisabled')
  const subject = subjectOf(deviceId)
  const provider = 'device'
  return {
    client,
    identity: { environmentId, provider, subject },
    answer: { subject, nickname: null, avatarUrl: null, data: new Map(), claims: null },
    attempt: { environmentId, operation, provider, milliseconds: 0, attempts: [], subject, notes: [] },
  }
}
