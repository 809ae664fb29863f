import { useState } from 'react'
import { useClient } from 'urql'
import { MAX_SUPPORT_PLAYERS } from '../../../src/base/limits.ts'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { codeOf, isOutcomeOpen } from '../ui/errors.ts'
import { TextAreaField } from '../ui/form.tsx'
import { playersText } from '../ui/players-text.ts'
import { number } from '../ui/words.ts'
import { ActionKey } from './actions/action-key.ts'
import { BAN_FIELDS, BAN_INITIAL, banEffect, banInput } from './actions/ban-fields.ts'
import { banPlayersMutation } from './actions/operations.ts'
import { Control } from './actions/support-dialog.tsx'
import { FirstPlayers } from './first-players.tsx'

const MISSED = { PLAYER_NOT_FOUND: 'not found', PLAYER_DELETED: 'deleted' } as const

/** Bans the players of a list of ids. */
export function BanListDialog({ onClose }: { onClose: () => void }) {
  const client = useClient()
  const [text, setText] = useState('')
  const [values, setValues] = useState(BAN_INITIAL)
  const [openedAt] = useState(() => Date.now())
  const [key] = useState(() => new ActionKey())
  const playerIds = [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))]
  const isTooLong = playerIds.length > MAX_SUPPORT_PLAYERS
  const players = playersText(playerIds.length)

  async function run(reason: string): Promise<ActionResult> {
    const request = { playerIds, ...banInput(values, openedAt) }
    const fields = JSON.stringify(request)
    const input = { ...request, reason, idempotencyKey: key.keyOf(fields) }
    const { data, error } = await client.mutation(banPlayersMutation, { input: input as never })
    if (error && !isOutcomeOpen(error)) key.onAnswer(fields)
    if (codeOf(error) === 'IDEMPOTENCY_KEY_REUSED')
      return { refusal: 'Your first press took effect, with the fields as they were then. Nothing was done now.' }
    const results = data?.banPlayers?.results
    if (!results && !error) throw new Error('the answer has no result')
    if (!results) return { error }
    key.onAnswer(fields)
    const missed = results.filter((one) => one.error !== null)
    const banned = results.length - missed.length
    return {
      done: (
        <>
          {number(banned)} of {players} {banned === 1 ? 'is' : 'are'} banned.
          {missed.length > 0 && (
            <ul>
              {missed.map(({ playerId, error: why }) => (
                <li key={playerId}>
                  {playerId}: {why && MISSED[why]}
                </li>
              ))}
            </ul>
          )}
        </>
      ),
    }
  }

  return (
    <ActionDialog
      title="Ban players"
      effect={
        playerIds.length === 0
          ? 'Give the ids of players.'
          : isTooLong
            ? `${players}: at most ${number(MAX_SUPPORT_PLAYERS)} at once.`
            : banEffect(players, values)
      }
      confirm="Ban"
      tone="danger"
      disabled={playerIds.length === 0 || isTooLong}
      run={run}
      onClose={onClose}
    >
      <TextAreaField
        label="Ids of players"
        name="playerIds"
        hint="One a line, or with commas between them."
        value={text}
        onChange={setText}
        rows={6}
        required
      />
      <FirstPlayers ids={playerIds} />
      {BAN_FIELDS.map((field) => (
        <Control
          key={field.name}
          field={field}
          value={values[field.name] ?? ''}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
    </ActionDialog>
  )
}
