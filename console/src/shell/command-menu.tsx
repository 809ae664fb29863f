import { type KeyboardEvent, useEffect, useId, useState } from 'react'
import { useQuery } from 'urql'
import { useLocation } from 'wouter'
import { useMatches } from '../players/use-matches.ts'
import { addressOf, routes } from '../routes.tsx'
import { mayOf, useOperator } from '../session/permission.tsx'
import { endSession } from '../session/session.ts'
import { Dialog } from '../ui/dialog.tsx'
import { isEnter } from '../ui/enter.ts'
import { prefer } from '../ui/preferences.ts'
import { plainName, words } from '../ui/words.ts'
import { findPlayersQuery } from './operations.ts'
import { type Command, pageCommands } from './page-commands.ts'

/** Players are searched after this pause in typing. */
const PAUSE_MS = 200

/** Finds players, pages and commands by a text, among them what the page that is shown offers. The keyboard is enough to use it. */
export function CommandMenu(props: {
  readonly environment: string
  readonly environments: readonly string[]
  readonly onEnvironment: (environment: string) => void
  readonly onClose: () => void
}) {
  const { environment, environments, onEnvironment, onClose } = props
  const [, navigate] = useLocation()
  const session = useOperator()
  const canSearch = mayOf(session, 'players')
  const [text, setText] = useState('')
  const [place, setPlace] = useState(0)
  const listId = useId()
  const asked = useLater(text.trim())
  const isSearch = asked.length >= 2
  const [{ data, fetching }] = useQuery({
    query: findPlayersQuery,
    variables: { environment, search: asked },
    pause: !isSearch || !canSearch || environment === '',
    requestPolicy: 'cache-and-network',
  })

  const go = (to: string) => () => navigate(to)
  const commands: Command[] = [
    ...pageCommands(),
    ...routes.flatMap(({ path, entry, needs }) =>
      entry && (needs === undefined || mayOf(session, needs))
        ? [{ name: entry.name, note: 'page', run: go(addressOf(path, { environment })) }]
        : [],
    ),
    ...environments
      .filter((one) => one !== environment)
      .map((one) => ({ name: `Switch to ${one}`, note: 'environment', run: () => onEnvironment(one) })),
    { name: 'Times in UTC', note: 'command', run: () => prefer({ times: 'UTC' }) },
    { name: 'Times of this computer', note: 'command', run: () => prefer({ times: 'local' }) },
    { name: 'Exact times in lists', note: 'command', run: () => prefer({ lists: 'exact' }) },
    { name: 'Relative times in lists', note: 'command', run: () => prefer({ lists: 'relative' }) },
    { name: 'Dark colours', note: 'command', run: () => prefer({ theme: 'dark' }) },
    { name: 'Light colours', note: 'command', run: () => prefer({ theme: 'light' }) },
    { name: 'Sign out', note: 'command', run: () => endSession() },
  ]
  const wanted = text.trim().toLowerCase()
  const answer = isSearch && asked === text.trim() ? data?.players : undefined
  const players = answer?.nodes ?? []
  const matches = useMatches(environment, asked, answer)
  const found: Command[] = [
    ...players.map(({ playerId, nickname, status }) => ({
      name: nickname === null ? playerId : plainName(nickname),
      note: status === 'ACTIVE' ? `player ${playerId}` : `${words(status)} player ${playerId}`,
      run: go(`/env/${environment}/players/${playerId}`),
    })),
    ...commands.filter(({ name }) => name.toLowerCase().includes(wanted)),
    ...(wanted === '' || !canSearch
      ? []
      : [
          {
            name: `All ${matches ?? 'players'} with “${text.trim()}”`,
            note: 'search',
            run: go(`/env/${environment}/players?search=${encodeURIComponent(text.trim())}`),
          },
        ]),
  ]
  const active = Math.min(place, found.length - 1)

  const run = (command: Command | undefined) => {
    if (!command) return
    onClose()
    command.run()
  }

  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setPlace((active + step + found.length) % found.length)
    } else if (isEnter(event)) {
      event.preventDefault()
      run(found[active])
    }
  }

  return (
    <Dialog title="Search" onClose={onClose}>
      <input
        className="command-input"
        autoFocus
        role="combobox"
        aria-label={canSearch ? 'Search players, pages and commands' : 'Search pages and commands'}
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={active >= 0 ? `${listId}-${active}` : undefined}
        placeholder={canSearch ? 'A nickname, an id, a subject, or a page' : 'A page or a command'}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setPlace(0)
        }}
        onKeyDown={onKey}
      />
      <div className="commands" id={listId} role="listbox" aria-label="Results" aria-busy={fetching}>
        {found.map((command, index) => (
          <div
            key={`${command.note} ${command.name}`}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => run(command)}
            onKeyDown={onKey}
            onMouseMove={() => setPlace(index)}
          >
            <span>{command.name}</span>
            <small className="muted">{command.note}</small>
          </div>
        ))}
      </div>
    </Dialog>
  )
}

/** A value, once it has stayed the same for a moment. */
function useLater(value: string): string {
  const [later, setLater] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return later
}
