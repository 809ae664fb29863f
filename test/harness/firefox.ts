import puppeteer, { type Browser, type ElementHandle, type Page } from 'puppeteer-core'
import { STEP_MS } from './console.ts'
import { findProgram } from './needs.ts'

// Playwright drives only a Firefox of its own, which is not in Debian. Puppeteer drives the stock one, over WebDriver
// BiDi.

/** The Firefox of the system; npm installs none. */
const executablePath = findProgram(['firefox-esr', 'firefox'])

/** Why tests in Firefox cannot run here, or an empty text. */
export const withoutFirefox = executablePath === undefined ? 'SKIPPED, firefox is not installed: ' : ''

export const startFirefox = (): Promise<Browser> =>
  puppeteer.launch({
    browser: 'firefox',
    executablePath,
    timeout: STEP_MS,
    protocolTimeout: STEP_MS,
    defaultViewport: { width: 1280, height: 900 },
  })

/** A page with a storage of its own. */
export interface FirefoxPage {
  readonly page: Page
  /** Errors that the page wrote to the console, violations of its policy, and answers that are refusals. */
  readonly complaints: string[]
  /** Clicks what has this role and name, once it is there and can be clicked. `within` is a CSS selector. */
  click(role: string, name: string, within?: string): Promise<void>
  /** Replaces the text of a field with this label. */
  fill(label: string, text: string, within?: string): Promise<void>
  /** Waits until an element that matches the CSS selector has a text that contains this one. */
  says(text: string, selector?: string): Promise<void>
  close(): Promise<void>
}

export async function openFirefox(browser: Browser): Promise<FirefoxPage> {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_MS)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`)
  })
  return {
    page,
    complaints,
    click: (role, name, within = '') => page.locator(`${within} ::-p-aria([name="${name}"][role="${role}"])`).click(),
    async fill(label, text, within = '') {
      const field = await page.waitForFunction(
        (selector, wanted) =>
          [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(selector)].find(
            ({ ariaLabel, labels }) =>
              ariaLabel === wanted || [...(labels ?? [])].some(({ textContent }) => textContent.trim() === wanted),
          ),
        {},
        `${within} :is(input, textarea)`,
        label,
      )
      const element = field.asElement() as ElementHandle<HTMLInputElement | HTMLTextAreaElement>
      await element.evaluate((input) => input.select())
      await element.type(text)
    },
    async says(text, selector = 'body') {
      await page.waitForFunction(
        (where, wanted) =>
          [...document.querySelectorAll<HTMLElement>(where)].some(
            // biome-ignore lint/performance/useDomNodeTextContent: what a person can see counts
            ({ innerText }) => innerText.includes(wanted),
          ),
        {},
        selector,
        text,
      )
    },
    close: () => context.close(),
  }
}
