import { type Change, changeBetween } from '../text/json-edit.ts'

/** One step of the history: a change, and the text that it replaced. */
interface Step {
  readonly change: Change
  readonly removed: string
  /** Steps of the same kind within a moment become one, such as the letters of a word. */
  readonly kind: string
  readonly at: number
}

const MAX_STEPS = 500
const MOMENT_MS = 800

/** A text with its history. It keeps differences, not whole texts. */
export interface History {
  readonly text: string
  readonly done: readonly Step[]
  readonly undone: readonly Step[]
}

export const historyOf = (text: string): History => ({ text, done: [], undone: [] })

export function changeText(history: History, text: string, kind: string, at: number): History {
  if (text === history.text) return history
  const last = history.done.at(-1)
  const isSame = kind !== '' && last?.kind === kind && at - last.at < MOMENT_MS && history.undone.length === 0
  const done = isSame ? history.done.slice(0, -1) : history.done
  const origin = isSame && last ? revert(history.text, last) : history.text
  const change = changeBetween(origin, text)
  const step = { change, removed: origin.slice(change.from, change.to), kind, at }
  return { text, done: [...done.slice(-MAX_STEPS + 1), step], undone: [] }
}

const revert = (text: string, { change: { from, insert }, removed }: Step): string =>
  text.slice(0, from) + removed + text.slice(from + insert.length)

export function undo(history: History): History {
  const step = history.done.at(-1)
  if (!step) return history
  return { text: revert(history.text, step), done: history.done.slice(0, -1), undone: [...history.undone, step] }
}

export function redo(history: History): History {
  const step = history.undone.at(-1)
  if (!step) return history
  const { from, to, insert } = step.change
  return {
    text: history.text.slice(0, from) + insert + history.text.slice(to),
    done: [...history.done, { ...step, kind: '' }],
    undone: history.undone.slice(0, -1),
  }
}
