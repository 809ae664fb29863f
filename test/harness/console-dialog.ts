import type { Page } from 'playwright-core'

/** Fills in the reason, presses the button, and waits for the result. */
export async function confirm(page: Page, button: string, reason = 'ticket 12'): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Reason').fill(reason)
  await dialog.getByRole('button', { name: button, exact: true }).click()
  await dialog.getByText('Row of the audit log').waitFor()
}

export const closeDialog = (page: Page): Promise<void> =>
  page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

/** Opens a menu of the page, and chooses an item. */
export async function choose(page: Page, menu: string, item: string): Promise<void> {
  await page.getByRole('button', { name: menu, exact: true }).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** Lets the service execute the next mutation with this name, and loses its answer. */
export async function loseAnswer(page: Page, mutation: string): Promise<void> {
  let isLost = false
  await page.route('**/graphql', async (route) => {
    if (isLost || !route.request().postData()?.includes(mutation)) return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort()
  })
}
