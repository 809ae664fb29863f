import { type Json, print } from '../../base/json.ts'
import { sentence } from '../../base/sentence.ts'
import { enumName } from '../../declare/answer.ts'
import type { ReportedProblem } from './changes.ts'
import type { AlertFormat } from './requests.ts'

/** What is sent to a webhook. It stays the same through all attempts. */
export interface AlertMessage {
  /** The header `webhook-id`, by which a receiver knows a repetition. */
  readonly id: string
  /** When it was made, in RFC 3339. */
  readonly at: string
  readonly project: string
  readonly environment: string
  readonly link: string | null
  /** A test has no problems. */
  readonly isTest: boolean
  readonly began: readonly ReportedProblem[]
  readonly ended: readonly ReportedProblem[]
  /** How often the receiver has refused its contents. */
  readonly refusals?: number
  /** Set for one whose texts the receiver has refused. */
  readonly isPlain?: true
}

/** The same without the texts of its problems. */
export const plainOf = (message: AlertMessage, id: string): AlertMessage => ({
  ...message,
  id,
  refusals: 0,
  isPlain: true,
  began: message.began.map(withoutText),
  ended: message.ended.map(withoutText),
})

const withoutText = (problem: ReportedProblem): ReportedProblem => ({
  ...problem,
  text: sentence(problem.kind),
})

/** Characters of a problem, or of a name, in a chat message. */
const MAX_LINE = 200

/** The body of a message in the shape of a service. */
export function bodyOf(format: AlertFormat, message: AlertMessage): string {
  switch (format) {
    case 'slack':
      return print({ text: textOf(message, SLACK) })
    case 'discord':
      // Without `allowed_mentions`, a name such as @everyone in a text would call everybody.
      return print({ content: textOf(message, DISCORD), allowed_mentions: { parse: [] } })
    case 'standard':
      return print(standardOf(message))
  }
}

interface Chat {
  /** Characters of a message. What does not fit is counted. */
  readonly max: number
  /** A text of others, in which nothing acts: no mention, no markup, no address. */
  readonly quote: (text: string) => string
  readonly bold: (text: string) => string
  readonly link: (url: string) => string
}

/**
 * https://docs.slack.dev/messaging/formatting-message-text: three characters control a text. Services that take Slack's
 * messages, such as Mattermost, also read @all and addresses, and none of it in code.
 */
const SLACK: Chat = {
  max: 3_900,
  quote: (text) =>
    `\`${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('`', 'ˋ')}\``,
  bold: (text) => `*${text}*`,
  link: (url) => `<${url.replaceAll('>', '%3E').replaceAll('|', '%7C')}>`,
}
/** https://docs.discord.com/developers/resources/webhook: up to 2,000 characters. */
const DISCORD: Chat = {
  max: 1_900,
  quote: (text) => text.replace(/[\\*_~`|<>#[\]()@:-]/g, String.raw`\$&`),
  bold: (text) => `**${text}**`,
  link: (url) => `<${url.replaceAll('>', '%3E')}>`,
}

function textOf({ project, environment, link, isTest, began, ended }: AlertMessage, chat: Chat): string {
  const title = chat.bold(chat.quote(`${clipped(project)} · ${clipped(environment)}`))
  const end = link === null ? [] : [chat.link(link)]
  const lines = [
    ...began.map(({ text }) => `🔴 ${chat.quote(clipped(text))}`),
    ...ended.map(({ text }) => `🟢 Over: ${chat.quote(clipped(text))}`),
    ...(isTest ? ['This is a test: alerts arrive here.'] : []),
  ]
  let room = chat.max - [title, ...end].join('\n').length
  const fit = lines.filter((line) => {
    room -= line.length + 1
    return room >= 0
  })
  const more = lines.length - fit.length
  return [title, ...fit, ...(more > 0 ? [`and ${more} more`] : []), ...end].join('\n')
}

/** The text in one line, cut at a whole character. */
function clipped(text: string): string {
  const characters = [...text.replace(/\s+/g, ' ')]
  return characters.length > MAX_LINE ? `${characters.slice(0, MAX_LINE - 1).join('')}…` : characters.join('')
}

const standardOf = ({ at, project, environment, link, isTest, began, ended }: AlertMessage): Json => ({
  type: isTest ? 'test' : 'problems.changed',
  timestamp: at,
  data: { project, environment, link, ...(!isTest && { began: began.map(problemOf), ended: ended.map(problemOf) }) },
})

/** A problem with the names and the members of `Problem` in GraphQL, without those that are null. */
const problemOf = ({ kind, ...problem }: ReportedProblem): Json => ({ kind: enumName(kind), ...problem })
