import { MAX_PROBLEMS, type Problem, type ProblemKind } from '../problems/problems.ts'

// The content of a message to a webhook: problems that began, and problems that are over.

/** A problem that was reported, in the form that is stored. */
export interface ReportedProblem extends Omit<Problem, 'at'> {
  /** RFC 3339. */
  readonly at: string
}

export interface Reported {
  readonly problem: ReportedProblem
  /** When it was first not found any more, in RFC 3339. Null while it is found. */
  readonly missingSince: string | null
}

export interface Changes {
  readonly reported: readonly Reported[]
  readonly began: readonly ReportedProblem[]
  readonly ended: readonly ReportedProblem[]
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

/**
 * Compares the problems that were reported with those that are found now. Only problems of `kinds` count; empty: all.
 */
export function changesOf(
  before: readonly Reported[],
  found: readonly Problem[],
  { kinds, now }: { readonly kinds: readonly string[]; readonly now: Date },
): Changes {
  const isWanted = ({ kind }: { readonly kind: ProblemKind }) => kinds.length === 0 || kinds.includes(kind)
  const wanted = found.filter(isWanted)
  const present = new Set(wanted.map(keyOf))
  const known = new Set(before.map(({ problem }) => keyOf(problem)))
  const began = wanted.flatMap((problem) => (known.has(keyOf(problem)) ? [] : [reportedOf(problem)]))
  const ended: ReportedProblem[] = []
  const reported = began.map((problem): Reported => ({ problem, missingSince: null }))

  for (const one of before) {
    const { problem } = one
    if (!isWanted(problem)) continue
    if (present.has(keyOf(problem))) reported.push({ problem, missingSince: null })
    // The list of this kind is full: the problem may be behind its end.
    else if (found.filter(({ kind }) => kind === problem.kind).length >= MAX_PROBLEMS) reported.push(one)
    else {
      const missingSince = one.missingSince ?? now.toISOString()
      const overAfterMs = OVER_AFTER_MS[problem.kind]
      if (overAfterMs === undefined) continue
      if (now.getTime() - Date.parse(missingSince) >= overAfterMs) ended.push(problem)
      else reported.push({ problem, missingSince })
    }
  }
  return { reported, began, ended }
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

const reportedOf = (problem: Problem): ReportedProblem => ({ ...problem, at: problem.at.toISOString() })
