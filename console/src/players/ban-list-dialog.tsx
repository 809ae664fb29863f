import { useState } from 'react'
import { MAX_SUPPORT_PLAYERS } from '../../../src/base/limits.ts'
import { ActionDialog, type ActionResult } from '../ui/action-dialog.tsx'
import { TextAreaField } from '../ui/form.tsx'
import { playersText } from '../ui/players-text.ts'
import { useSend } from '../ui/send.ts'
import { number } from '../ui/words.ts'
import { BAN_FIELDS, BAN_INITIAL, banEffect, banInput } from './actions/ban-fields.ts'
import { banPlayersMutation } from './actions/operations.ts'
import { Control } from './actions/support-dialog.tsx'
import { FirstPlayers } from './first-players.tsx'

const MISSED = { PLAYER_NOT_FOUND: 'not found', PLAYER_DELETED: 'deleted' } as const

/** Bans the players of a list of ids. */
export function BanListDialog({ onClose }: { onClose: () => void }) {
  const send = useSend()
  const [text, setText] = useState('')
  const [values, setValues] = useState(BAN_INITIAL)
  const [openedAt] = useState(() => Date.now())
  const playerIds = [...new Set(text.split(/[\s,;]+/).filter((id) => id !== ''))]
  const isTooLong = playerIds.length > MAX_SUPPORT_PLAYERS
  const players = playersText(playerIds.length)

  async function run(reason: string): Promise<ActionResult> {
    const input = { playerIds, ...banInput(values, openedAt) }
    const { answer, ...failed } = await send(
      { mutation: banPlayersMutation, input: input as never, isOnce: true },
      reason,
    )
    if (!answer) return failed
    const { results } = answer
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
