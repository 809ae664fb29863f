import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReportedProblem } from '../../src/operations/alerts/changes.ts'
import { type AlertMessage, bodyOf } from '../../src/operations/alerts/messages.ts'

// The bodies of messages, in the shapes that Slack, Discord and Standard Webhooks document.

const AT = '2027-01-01T00:00:00.000Z'
const began: ReportedProblem = {
  ...{ kind: 'logins fail', at: AT, provider: 'default' },
  text: 'Logins through default fail: 12 of 90 since the hour before.',
}
const ended: ReportedProblem = {
  kind: 'grant job paused',
  at: AT,
  text: 'A grant job is paused: *wait*',
  grantJobId: 'a',
}
const message: AlertMessage = {
  ...{ id: 'msg_1', at: AT, project: 'Frost & Fire', environment: 'production', isTest: false },
  ...{ link: 'https://live.example/console', began: [began], ended: [ended] },
}
const TEST = { ...message, isTest: true, began: [], ended: [] }
const body = (...args: Parameters<typeof bodyOf>) => JSON.parse(bodyOf(...args))

describe('a message', () => {
  it('of Slack is a text in its markup', () => {
    expect(body('slack', message)).toEqual({
      text: [
        '*`Frost &amp; Fire · production`*',
        '🔴 `Logins through default fail: 12 of 90 since the hour before.`',
        '🟢 Over: `A grant job is paused: *wait*`',
        '<https://live.example/console>',
      ].join('\n'),
    })
  })

  it('of Slack has texts of others in code, where neither @all, markup nor addresses act', () => {
    const text = '@all `@here` *now* <!channel> https://evil.example'
    const [, line] = body('slack', { ...message, began: [{ ...began, text }] }).text.split('\n')
    expect(line).toBe('🔴 `@all ˋ@hereˋ *now* &lt;!channel&gt; https://evil.example`')
  })

  it('of Discord is a content in its markup, and calls nobody', () => {
    expect(body('discord', message)).toEqual({
      content: [
        '**Frost & Fire · production**',
        String.raw`🔴 Logins through default fail\: 12 of 90 since the hour before.`,
        String.raw`🟢 Over: A grant job is paused\: \*wait\*`,
        '<https://live.example/console>',
      ].join('\n'),
      allowed_mentions: { parse: [] },
    })
  })

  it('of Standard Webhooks has each problem with the names of the GraphQL API', () => {
    const { kind: _, ...rest } = began
    expect(body('standard', message)).toEqual({
      type: 'problems.changed',
      timestamp: AT,
      data: {
        ...{ project: 'Frost & Fire', environment: 'production', link: 'https://live.example/console' },
        began: [{ kind: 'LOGINS_FAIL', ...rest }],
        ended: [{ kind: 'GRANT_JOB_PAUSED', at: AT, text: ended.text, grantJobId: 'a' }],
      },
    })
    expect(body('standard', { ...TEST, link: null })).toEqual({
      ...{ type: 'test', timestamp: AT, data: { project: 'Frost & Fire', environment: 'production', link: null } },
    })
  })

  it.each(['slack', 'discord'] as const)('of %s says that it is a test', (format) => {
    expect(bodyOf(format, TEST)).toContain('This is a test')
  })

  it('fits its service, counts what does not fit, and keeps the markup of texts from acting', () => {
    const texts = fc.array(
      fc.oneof(fc.string({ unit: 'grapheme', maxLength: 600 }), fc.constant('*_~`|<@!>&'.repeat(60))),
      {
        maxLength: 60,
      },
    )
    fc.assert(
      fc.property(texts, texts, fc.string({ maxLength: 300 }), (some, others, project) => {
        const of = (list: readonly string[]) => list.map((text) => ({ ...began, text }))
        const full = { ...message, project, began: of(some), ended: of(others) }
        const { text } = body('slack', full)
        const { content } = body('discord', full)
        expect(text.length).toBeLessThanOrEqual(4_000)
        expect(content.length).toBeLessThanOrEqual(2_000)
        expect(text.replace('<https://live.example/console>', '')).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/)
        for (const line of text.split('\n').filter((one: string) => /^🔴|^🟢/u.test(one)))
          expect(line).toMatch(/^(🔴|🟢 Over:) `[^`]*`$/u)
        for (const [shown, hasAll] of [text, content].map((one) => [one, !/\nand \d+ more\n/.test(one)])) {
          const lines = String(shown).split('\n').slice(1, -1)
          if (hasAll) expect(lines).toHaveLength(some.length + others.length)
          else
            expect(lines).toHaveLength(
              some.length + others.length - Number(/and (\d+) more/.exec(String(lines.at(-1)))?.[1]) + 1,
            )
        }
      }),
      { numRuns: 100 },
    )
  })
})
