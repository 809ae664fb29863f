import type { Config } from '../base/config.ts'
import { loadTokenKeys } from '../callers/key-ring.ts'
import { findEnvironment } from '../callers/projects.ts'
import { createTokens } from '../callers/tokens.ts'
import { withDatabase } from '../db/open.ts'
import { createPlayer } from '../players/create-player.ts'
import { createGroupCommit } from '../transactions/group-commit.ts'
import { adjustWallet } from './adjust-wallet.ts'

export interface NewDevelopmentPlayer {
  readonly nickname?: string
  readonly credits?: readonly { readonly currency: string; readonly amount: bigint }[]
}

export interface DevelopmentPlayer {
  readonly playerId: string
  readonly token: string
}

/** Makes players and their access tokens without a login, for development. The service may be running or not. */
export function withDevelopmentPlayers<T>(
  config: Config,
  projectId: string,
  environment: string,
  work: (create: (player: NewDevelopmentPlayer) => Promise<DevelopmentPlayer>) => Promise<T>,
): Promise<T> {
  return withDatabase(config, async (pool) => {
    const environmentId = await findEnvironment(pool, projectId, environment)
    const writes = createGroupCommit({ pool })
    const tokens = await createTokens({
      keys: await loadTokenKeys(config),
      issuer: config.tokenIssuer,
      audience: config.tokenAudience,
    })
    return work(async ({ nickname, credits = [] }) => {
      const player = await writes.run(createPlayer(environmentId, nickname ?? null))
      for (const credit of credits) await writes.run(adjustWallet(player, { ...credit, reference: 'development' }))
      const token = await tokens.issueAccessToken({ ...player, projectId })
      return { playerId: player.playerId, token }
    })
  })
}
