import { randomUUID } from 'node:crypto'
import { importJWK, SignJWT } from 'jose'
import type { TokenKey } from '../../src/callers/tokens.ts'

/** The access token of a player, as a service with this key issues it, with any life. */
export async function expiringToken(
  key: TokenKey,
  { playerId, environmentId, projectId }: Readonly<Record<'playerId' | 'environmentId' | 'projectId', string>>,
  lifeMs: number,
): Promise<string> {
  const exp = Math.floor((Date.now() + lifeMs) / 1000)
  return new SignJWT({ prj: projectId, env: environmentId })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: key.kid })
    .setIssuer('tierway')
    .setAudience('tierway')
    .setSubject(playerId)
    .setIssuedAt(exp - 60)
    .setExpirationTime(exp)
    .setJti(randomUUID())
    .sign(await importJWK({ ...key }, 'EdDSA'))
}
