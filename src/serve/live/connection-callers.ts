import { CloseCode } from 'graphql-ws'
import type { Service } from '../../app/service.ts'
import type { ConnectionLimits } from '../../base/rate-limits/connection-limits.ts'
import { type Access, accessOf, idOfCaller } from '../../callers/access.ts'
import type { AccessWatch } from '../../callers/access-watch.ts'
import { toRefusal } from '../../db/failures.ts'
import type { Connection } from './connection.ts'

/** The WebSocket code for "try again later". Clients of graphql-ws do so. */
export const TRY_AGAIN_LATER = 1013

/** The members of `connectionParams`. A credential may be there in any type. */
export type Params = Readonly<Record<string, unknown>>

export interface CallerOptions {
  readonly service: Service
  readonly watch: AccessWatch
  readonly connectionLimits: ConnectionLimits
}

/**
 * Whether a socket is acknowledged: false when it is closed, with 4403 if no other code was sent. From then on it
 * closes when its callers lose access.
 */
export async function admit(
  connection: Connection,
  params: Params | undefined,
  { service, watch, connectionLimits }: CallerOptions,
): Promise<boolean> {
  const { outlet, address } = connection
  const fault = faultOf(params)
  if (fault !== undefined) {
    outlet.close(CloseCode.BadRequest, fault)
    return false
  }
  const authorization = readAuthorization(params)
  const sdkKey = readText(params?.sdkKey)
  const access = accessOf(service, { authorization, sdkKey, operator: params?.operator, address }, 'forbidden')
  try {
    if (sdkKey !== null) connection.hold({ kind: 'client', keyId: (await access.client()).keyId }, watch)
    return authorization === null || (await admitCaller(connection, access, watch, connectionLimits))
  } catch (error) {
    // Not the caller's fault: it should return later with the same credentials.
    const refusal = toRefusal(error)
    if (refusal?.status === 503) outlet.close(TRY_AGAIN_LATER, 'unavailable')
    // A faulty `operator` would stay faulty with other credentials.
    if (refusal?.status === 400) outlet.close(CloseCode.BadRequest, `operator ${refusal.faults[0]?.message}`)
    return false
  }
}

async function admitCaller(
  connection: Connection,
  access: Access,
  watch: AccessWatch,
  connectionLimits: ConnectionLimits,
): Promise<boolean> {
  const caller = await access.caller()
  // Before the acknowledgement, so that a client that would be closed a second later backs off between its attempts.
  if (await watch.check(caller)) return false
  const release = connectionLimits.hold('caller_sockets', idOfCaller(caller))
  if (!release) {
    connection.outlet.close(TRY_AGAIN_LATER, 'too many sockets of this caller')
    return false
  }
  connection.releases.push(release)
  connection.hold(caller, watch)
  return true
}

/** A credential of another type is no absent one: its sender would be nobody without a word. */
function faultOf(params: Params | undefined): string | undefined {
  const name = ['authorization', 'Authorization', 'sdkKey'].find((credential) => {
    const value = params?.[credential]
    return value !== undefined && value !== null && typeof value !== 'string'
  })
  return name === undefined ? undefined : `${name} must be a string`
}

export function readAuthorization(params: Params | undefined): string | null {
  return readText(params?.authorization ?? params?.Authorization)
}

export const readText = (value: unknown): string | null => (typeof value === 'string' ? value : null)
