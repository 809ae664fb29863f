import { createContext, type ReactNode, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { createClient } from '../session/client.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { Id } from '../ui/text.tsx'
import { plainName } from '../ui/words.ts'
import { playerHref } from './addresses.ts'
import { PlayerNames, readNamesBy } from './names.ts'
import css from './player-name.module.css'

const NamesContext = createContext<PlayerNames | null>(null)

/** Keeps the nicknames of players as long as the session lasts. They have a client of their own, which keeps nothing. */
export function PlayerNamesProvider({ children }: { children: ReactNode }) {
  const names = useMemo(() => new PlayerNames(readNamesBy(createClient({ isCached: false }))), [])
  return <NamesContext value={names}>{children}</NamesContext>
}

interface PlayerNameProps {
  readonly of: string
  /** The nickname where the page has it: null for a player without one. Otherwise it is asked for. */
  readonly nickname?: string | null | undefined
  /** The environment of the player, where it is not that of the page. */
  readonly environment?: string
  /** The part of the player's page that the link opens. */
  readonly tab?: string
}

/** A player as a link: its nickname with the end of its id. Long nicknames are cut. */
export function PlayerName({ of: playerId, nickname: given, environment, tab }: PlayerNameProps) {
  const nickname = useNickname(playerId, given)
  return (
    <Link
      href={useHref(playerId, environment, tab)}
      className={css.player}
      title={nickname === null ? playerId : `${nickname} ${playerId}`}
    >
      {nickname !== null && <bdi className={css.nickname}>{nickname}</bdi>} <code>{shortId(playerId)}</code>
    </Link>
  )
}

/** A player with its whole id, to copy. */
export function WholePlayer({ of: playerId, environment }: Pick<PlayerNameProps, 'of' | 'environment'>) {
  const nickname = useNickname(playerId, undefined)
  const href = useHref(playerId, environment)
  if (nickname === null) return <Id of={playerId} href={href} />
  return (
    <span className={css.whole}>
      <Link href={href} className={css.player} title={nickname}>
        <bdi className={css.nickname}>{nickname}</bdi>
      </Link>
      <Id of={playerId} />
    </span>
  )
}

/** The end of a player's id: ids begin with the time, so their ends distinguish them. */
export const shortId = (playerId: string): string => `…${playerId.slice(-8)}`

function useHref(playerId: string, environment: string | undefined, tab?: string): string {
  const here = useEnvironment()
  const href = playerHref({ environment: environment ?? here, playerId })
  return tab === undefined ? href : `${href}/${tab}`
}

function useNickname(playerId: string, given: string | null | undefined): string | null {
  const names = useContext(NamesContext)
  if (names === null) throw new Error('there is no PlayerNamesProvider')
  const known = useSyncExternalStore(names.listen, () => names.nameOf(playerId))
  const isGiven = given !== undefined
  useEffect(() => (isGiven ? undefined : names.want(playerId)), [names, playerId, isGiven])
  const nickname = (isGiven ? given : known) ?? null
  return nickname === null ? null : plainName(nickname)
}
