import { MAX_PROBLEMS, type Problem, type ProblemKind } from '../problems/problems.ts'

// What a webhook is told: problems that began, and problems that are over.

/** A problem that was told, in the form that is stored. */
export interface ToldProblem extends Omit<Problem, 'at'> {
  /** RFC 3339. */
  readonly at: string
}

export interface Told {
  readonly problem: ToldProblem
  /** When it was first not found any more, in RFC 3339. Null while it is found. */
  readonly missingSince: string | null
}

export interface Changes {
  readonly told: readonly Told[]
  readonly began: readonly ToldProblem[]
  readonly ended: readonly ToldProblem[]
}

/**
 * How long a problem must be gone to be over, in milliseconds. Shares of failed calls come and go around their bar.
 * Kinds that are not here are events of the past: they are never over, and are forgotten with time.
 */
const OVER_AFTER_MS: Readonly<Partial<Record<ProblemKind, number>>> = {
  'secrets unreadable': 0,
  'logins fail': 10 * 60_000,
  'xp limited': 10 * 60_000,
  'settlement late': 0,
  'grant job paused': 0,
  'grant job awaits approval': 0,
  'alerts fail': 0,
}

/** Compares the problems that were told with those that are found now. Only problems of `kinds` count; empty: all. */
export function changesOf(
  before: readonly Told[],
  found: readonly Problem[],
  { kinds, now }: { readonly kinds: readonly string[]; readonly now: Date },
): Changes {
  const isWanted = ({ kind }: { readonly kind: ProblemKind }) => kinds.length === 0 || kinds.includes(kind)
  const wanted = found.filter(isWanted)
  const present = new Set(wanted.map(keyOf))
  const known = new Set(before.map(({ problem }) => keyOf(problem)))
  const began = wanted.flatMap((problem) => (known.has(keyOf(problem)) ? [] : [toldOf(problem)]))
  const ended: ToldProblem[] = []
  const told = began.map((problem): Told => ({ problem, missingSince: null }))

  for (const one of before) {
    const { problem } = one
    if (!isWanted(problem)) continue
    if (present.has(keyOf(problem))) told.push({ problem, missingSince: null })
    // The list of this kind is full: the problem may be behind its end.
    else if (found.filter(({ kind }) => kind === problem.kind).length >= MAX_PROBLEMS) told.push(one)
    else {
      const missingSince = one.missingSince ?? now.toISOString()
      const overAfterMs = OVER_AFTER_MS[problem.kind]
      if (overAfterMs === undefined) continue
      if (now.getTime() - Date.parse(missingSince) >= overAfterMs) ended.push(problem)
      else told.push({ problem, missingSince })
    }
  }
  return { told, began, ended }
}

/** A problem is the same one as long as it is about the same thing. Its numbers and its time may change. */
const keyOf = ({
  kind,
  provider,
  scenarioId,
  nodeId,
  grantJobId,
  publicationId,
  alertWebhookId,
}: Omit<Problem, 'at'>): string =>
  JSON.stringify([kind, provider, scenarioId, nodeId, grantJobId, publicationId, alertWebhookId])

const toldOf = (problem: Problem): ToldProblem => ({ ...problem, at: problem.at.toISOString() })
