import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NamedTest } from './table.ts'

// Five ways to break the product. Each must make the fault suite fail.

export interface Mutation {
  readonly what: string
  /** Relative to the root. */
  readonly file: string
  /** Texts that occur once in the file, with their replacements. */
  readonly changes: readonly (readonly [find: string, by: string])[]
  /** The tests of the table that must fail. */
  readonly tests: readonly NamedTest[]
}

export const MUTATIONS: readonly Mutation[] = [
  {
    what: 'an answer before COMMIT',
    file: 'src/transactions/execute-group.ts',
    changes: [
      [
        'const results = await send(client, statements)\n    if (!isAlone',
        'settle(() => true)\n    const results = await send(client, statements)\n    if (!isAlone',
      ],
    ],
    tests: [
      {
        file: 'faults/crash.test.ts',
        title:
          'charges once when the answer to COMMIT is lost … times, and the repeat goes to another service (spec 4.1)',
      },
    ],
  },
  {
    what: 'no lock of the stream: its position is read before',
    file: 'src/events/append.ts',
    changes: [
      [
        'SELECT $1::uuid, count(*), count(*), clock_timestamp() FROM emitted HAVING',
        `SELECT $1::uuid, count(*) + o.position, count(*) + o.position, clock_timestamp() FROM emitted,
      (SELECT coalesce(max(position), 0) AS position FROM streams WHERE environment_id = $1::uuid) o
    GROUP BY o.position HAVING`,
      ],
      ['      position = s.position + excluded.position,', '      position = excluded.position,'],
      ['      reached_position = s.position + excluded.position,', '      reached_position = excluded.position,'],
    ],
    tests: [
      {
        file: 'events/instances.test.ts',
        title:
          'numbers the events of 32 writers 1 to N in commit order, beside refused, rolled back, broken and idle transactions (decisions 8)',
      },
    ],
  },
  {
    what: 'no check of idempotency keys',
    file: 'src/transactions/command.ts',
    changes: [['const stored = slot.value', 'const stored = Math.random() < 0 ? slot.value : undefined']],
    tests: [
      {
        file: 'faults/two-services.test.ts',
        title: 'charge once and answer identically when two hundred purchases have one key',
      },
    ],
  },
  {
    what: 'no retry of conflicts',
    file: 'src/transactions/group-commit.ts',
    changes: [['const MAX_RETRIES = 20', 'const MAX_RETRIES = 0']],
    tests: [
      { file: 'transactions/group-commit.test.ts', title: 'retries a group that ends with … until it commits, once' },
    ],
  },
  {
    what: 'a swallowed publish',
    file: 'src/events/redis-bus.ts',
    changes: [
      [
        'publisher.publish(channelOf(environmentId), printSignal(instance, environmentId, events)).then(sent, sent)',
        'printSignal(instance, environmentId, events)\n      sent()',
      ],
    ],
    tests: [
      {
        file: 'events/instances.test.ts',
        title:
          'delivers on one instance what another writes, well before the check of Postgres each second (decisions 8)',
      },
    ],
  },
]

/** The text of a mutation's file with its changes. Throws unless each text to change occurs exactly once. */
export async function mutated(root: string, { what, file, changes }: Mutation): Promise<string> {
  let text = await readFile(join(root, file), 'utf8')
  for (const [find, by] of changes) {
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`"${what}" finds its text ${count} times in ${file}, not once: ${find}`)
    text = text.replace(find, () => by)
  }
  return text
}

/** Applies a mutation, and returns a function that reverts it. */
export async function apply(root: string, mutation: Mutation): Promise<() => Promise<void>> {
  const path = join(root, mutation.file)
  const [before, after] = [await readFile(path, 'utf8'), await mutated(root, mutation)]
  await writeFile(path, after)
  return () => writeFile(path, before)
}
