import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { shortId } from '../players/player-name.tsx'
import { useMatches } from '../players/use-matches.ts'
import { useEnvironment } from '../shell/environment.tsx'
import { findPlayersQuery } from '../shell/operations.ts'
import { Button } from '../ui/button.tsx'
import type { Filters } from '../ui/filters.tsx'
import { TextField } from '../ui/form.tsx'
import { plainName } from '../ui/words.ts'

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PAUSE_MS = 300

/** The player of the events, by id, or found by a nickname or a subject. The address keeps the id. */
export function PlayerFilter({ filters }: { filters: Filters }) {
  const environment = useEnvironment()
  const value = filters.value('player')
  const [text, setText] = useState(value)
  const [known, setKnown] = useState(value)
  const [asked, setAsked] = useState('')
  if (value !== known) {
    // Another part of the page, or Back, has set the filter.
    setKnown(value)
    if (value !== text.trim()) setText(value)
  }
  const typed = text.trim()
  const isSearch = typed !== '' && typed !== value && !ID.test(typed)
  const [{ data, fetching, error }] = useQuery({
    query: findPlayersQuery,
    variables: { environment, search: asked },
    pause: !isSearch || asked === '' || asked !== typed,
  })
  const isAnswered = isSearch && asked === typed && !fetching && data !== undefined
  const found = isAnswered ? data.players.nodes : []
  const matches = useMatches(environment, asked, isAnswered ? data.players : undefined)
  const [only] = found.length === 1 ? found : []

  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed sets the filter
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => {
      if (typed === '' || ID.test(typed)) filters.set('player', typed)
      else setAsked(typed)
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])

  function choose(playerId: string): void {
    setText(playerId)
    filters.set('player', playerId)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer with one player is taken once
  useEffect(() => {
    if (only) choose(only.playerId)
  }, [only?.playerId])

  const fault = isSearch && error ? 'The players could not be read.' : 'No player has this nickname, id or subject.'
  return (
    <div>
      <TextField
        label="Player"
        name="player"
        type="search"
        placeholder="nickname, id or subject"
        faults={isSearch && (error || (isAnswered && found.length === 0)) ? [fault] : []}
        value={text}
        onChange={setText}
      />
      {found.length > 1 && (
        <fieldset className="choices">
          <legend className="hint">
            Which of them?{matches !== undefined && ` ${found.length} of ${matches} are listed: type more.`}
          </legend>
          {found.map(({ playerId, nickname }) => (
            <Button key={playerId} tone="quiet" onClick={() => choose(playerId)}>
              <span className="clip">{nickname === null ? playerId : plainName(nickname)}</span>{' '}
              <small>{shortId(playerId)}</small>
            </Button>
          ))}
        </fieldset>
      )}
    </div>
  )
}
