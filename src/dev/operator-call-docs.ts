import { hasRight, RIGHTS, type Right, ROLES } from '../callers/roles.ts'
import type { OperatorCall } from '../declare/operator-call.ts'
import { operatorCalls, operatorReads } from '../operator-calls.ts'

// What docs/access.md and the console say of operators' calls and queries, from their declarations. Not part of the
// service.

/** Whether a change of the call has an entry in the audit log, and not only a refused attempt. */
const hasEntry = ({ answer }: OperatorCall): boolean => 'payload' in answer && answer.withoutEntry !== null

const ofAction = (action: string): readonly OperatorCall[] => operatorCalls.filter((call) => call.action === action)
const actions = [...new Set(operatorCalls.map(({ action }) => action))].sort()
const titleOf = (action: string): string => ofAction(action).find(({ title }) => title !== undefined)?.title ?? action

/** The titles of actions, for the console. */
export function printTitles(): string {
  const list = (isMeant: (action: string) => boolean) =>
    actions.filter(isMeant).map((action) => `  '${action}': '${titleOf(action)}',\n`)
  const isDone = (action: string) => ofAction(action).some(hasEntry)
  return `// Written by \`npm run schema\` from the declarations of operators' calls.

/** The actions of calls, in words. */
export const CALLS: Readonly<Record<string, string>> = {
${list(isDone).join('')}}

/** Those that the log has only when they were denied. */
export const DENIED_CALLS: Readonly<Record<string, string>> = {
${list((action) => !isDone(action)).join('')}}
`
}

export const code = (text: string): string => `\`${text}\``

const cellsOf = (right: Right) => [
  'INVALID_TOKEN',
  'INVALID_TOKEN',
  'FORBIDDEN',
  ...ROLES.map((role) => (hasRight(role, right) ? 'yes' : 'FORBIDDEN')),
  'own',
]

function rightsTable(kind: string, declared: readonly { readonly name: string; readonly right: Right }[]): string {
  const rows = RIGHTS.flatMap((right) => {
    const names = declared.filter((one) => one.right === right).map(({ name }) => code(name))
    return names.length === 0 ? [] : [[names.join(' '), ...cellsOf(right)]]
  })
  return tableOf([[kind, 'nobody', 'SDK key', 'player', ...ROLES, 'elsewhere'], ...rows])
}

function actionsTable(): string {
  const rows = actions.map((action) => {
    const calls = ofAction(action)
    const targets = calls.map(({ target }) => code(typeof target === 'string' ? target : `"${target.word}"`))
    const names = calls.map(({ name }) => code(name)).join(', ')
    const when = calls.some(hasEntry) ? '' : 'only when denied'
    return [code(action), names, [...new Set(targets)].join(', '), when]
  })
  return tableOf([['action', 'mutation', 'target of a denied attempt', ''], ...rows])
}

export const tableOf = ([header = [], ...rows]: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** The page docs/access.md with its tables. */
export const withTables = (page: string): string =>
  withPrinted(page, {
    'queries of operators': rightsTable('queries', operatorReads),
    'mutations of operators': rightsTable('mutations', operatorCalls),
    'actions of operators': actionsTable(),
  })

/** A page with printed tables, each between two marks. */
export function withPrinted(page: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    const [begin, end] = [`<!-- ${name}, by npm run schema -->\n`, '\n<!-- end -->']
    const from = text.indexOf(begin)
    const to = text.indexOf(end, from)
    if (from < 0 || to < 0) throw new Error(`the page has no place for the ${name}`)
    return text.slice(0, from + begin.length) + table + text.slice(to)
  }, page)
}
