// The view of the game. It knows nothing of the service: it draws the given state, and reports what the player presses.

const TRACKS = ['free', 'premium']
const LOG_LENGTH = 100
const TOAST_MS = 4_000

/** The elements of the page, by their ids. */
const parts = Object.fromEntries([...document.querySelectorAll('[id]')].map((element) => [element.id, element]))
const number = new Intl.NumberFormat('en')

/** The action of each button, by its name. */
const doings = {}

export function on(name, doing) {
  doings[name] = doing
}

/** Begins to handle buttons. `attempt` runs their actions, and shows errors. */
export function start(attempt) {
  const press = (name, value) => {
    parts.alert.textContent = ''
    return attempt(() => doings[name](value))
  }
  /** A button that waits for its answer cannot be pressed meanwhile. */
  const pressOnce = async (button, name, value) => {
    button.setAttribute('aria-busy', 'true')
    if (button.dataset.busy) return
    button.dataset.busy = 'yes'
    await press(name, value)
    delete button.dataset.busy
    button.removeAttribute('aria-busy')
  }
  parts.login.addEventListener('submit', (event) => {
    event.preventDefault()
    return pressOnce(event.submitter ?? parts.login.querySelector('button'), 'login', parts.name.value.trim())
  })
  parts.logout.addEventListener('click', () => press('logout'))
  parts.offline.addEventListener('change', () => press('offline', parts.offline.checked))
  parts.play.addEventListener('click', () => press('play'))
  parts['claim-all'].addEventListener('click', () => pressOnce(parts['claim-all'], 'claimAll'))
  parts.premium.addEventListener('click', () => pressOnce(parts.premium, 'premium'))
  parts.tiers.addEventListener('click', ({ target }) => {
    const button = target.closest('button')
    if (button) return pressOnce(button, 'claim', { level: Number(button.dataset.level), track: button.dataset.track })
  })
}

export function showLogin(name, why = '') {
  for (const part of [parts.game, parts.account]) part.hidden = true
  parts.login.hidden = false
  parts.alert.textContent = why
  parts.name.value ||= name
  parts.name.focus()
}

/** A new game: its tiers, one column for each level. */
export function showGame({ levels, tiers, premium }) {
  parts.login.hidden = true
  for (const part of [parts.game, parts.account]) part.hidden = false
  parts.log.replaceChildren()
  parts.premium.textContent = premium ? `Buy premium for ${amountOf(premium.price)}` : 'Buy premium'
  parts.tiers.replaceChildren(
    ...levels.map(({ level }) => {
      const column = element('li', { className: 'tier', id: `level-${level}` }, [])
      const cells = TRACKS.map((track) => {
        const tier = tiers.find((tier) => tier.level === level && tier.track === track)
        return tier ? cellOf(tier) : element('span', { className: 'cell' })
      })
      column.append(cells[0], element('span', { className: 'step' }, [String(level)]), cells[1])
      return column
    }),
  )
  parts.play.focus()
}

function cellOf({ level, track, rewards }) {
  const button = element('button', { type: 'button', className: `cell ${track}` }, [
    element('span', { className: `reward ${rewards[0]?.currency ?? 'item'}`, ariaHidden: 'true' }),
    ...rewards.map((reward) => element('span', { className: 'amount' }, [amountOf(reward)])),
    element('span', { className: 'state' }),
  ])
  Object.assign(button.dataset, { level, track })
  return button
}

export function draw({ progress, player, season }) {
  const { level, xp, premiumOwned, claimedTiers } = progress
  const own = season.levels.find((entry) => entry.level === level)
  const next = season.levels.find((entry) => entry.level === level + 1)
  const [from, to] = [BigInt(own?.xp ?? 0), BigInt(next?.xp ?? xp)]
  parts.level.textContent = String(level)
  parts.xp.textContent = `${number.format(xp)} xp`
  parts['to-next'].textContent = next ? `${number.format(to - xp)} xp to level ${level + 1}` : 'The top level'
  parts.bar.max = Number(to - from) || 1
  parts.bar.value = next ? Number(xp - from) : 1

  const claimed = new Set(claimedTiers.map((tier) => `${tier.track} ${tier.level}`))
  const isHeld = document.activeElement?.closest('.cell')
  let open = 0
  for (const button of parts.tiers.querySelectorAll('button')) {
    const { track } = button.dataset
    const isReached = Number(button.dataset.level) <= level
    const isClaimed = claimed.has(`${track} ${button.dataset.level}`)
    const isOpen = isReached && !isClaimed && (track === 'free' || premiumOwned)
    if (isOpen) open += 1
    const state = isClaimed ? 'claimed' : isOpen ? 'claimable' : 'locked'
    button.dataset.state = state
    button.disabled = !isOpen
    button.lastChild.textContent = state === 'claimable' ? 'Claim' : state === 'claimed' ? '✓ Claimed' : 'Locked'
    button.ariaLabel = `Level ${button.dataset.level}, ${track}: ${button.textContent}`
  }
  // After a claim by keyboard the focus moves to the next tier.
  if (isHeld?.disabled) (parts.tiers.querySelector('button:enabled') ?? parts.play).focus()
  parts['claim-all'].textContent = open > 0 ? `Claim all (${open})` : 'Claim all'
  parts['claim-all'].disabled = open === 0
  parts.premium.disabled = premiumOwned
  if (premiumOwned) parts.premium.textContent = 'Premium ✓'
  showLevel(level)

  parts.nickname.textContent = player.nickname ?? player.playerId
  list(
    parts.wallet,
    player.wallet.map(({ currency, balance }) => [currency, `${number.format(balance)} ${currency}`]),
  )
  list(
    parts.inventory,
    player.inventory.map(({ itemId, amount }) => ['item', `${nameOf(itemId)}${amount > 1n ? ` × ${amount}` : ''}`]),
  )
}

/** Scrolls the player's level into the middle of the row, when it has changed. */
function showLevel(level) {
  const column = document.getElementById(`level-${level}`)
  if (!column || column.classList.contains('own')) return
  const isFirst = !parts.tiers.querySelector('.own')
  for (const other of parts.tiers.querySelectorAll('.own')) other.classList.remove('own')
  column.classList.add('own')
  const left = column.offsetLeft - (parts.tiers.clientWidth - column.offsetWidth) / 2
  parts.tiers.scrollTo({ left, behavior: isFirst ? 'instant' : 'auto' })
}

function list(part, entries) {
  const chips = entries.map(([kind, text]) =>
    element('li', {}, [element('span', { className: `reward ${kind}`, ariaHidden: 'true' }), text]),
  )
  part.replaceChildren(...(chips.length > 0 ? chips : [element('li', { className: 'hint' }, ['Nothing yet'])]))
}

export function drawOutbox(size) {
  parts.outbox.textContent =
    size === 0 ? '' : size === 1 ? 'A match waits to be sent.' : `${size} matches wait to be sent.`
}

export function drawConnection(isOffline) {
  document.body.classList.toggle('is-offline', isOffline)
}

/** A line of the log, the newest first. */
export function log(text) {
  parts.log.prepend(element('li', {}, [element('time', {}, [new Date().toLocaleTimeString('en-GB')]), text]))
  while (parts.log.childElementCount > LOG_LENGTH) parts.log.lastElementChild.remove()
}

export function logGranted(rewards) {
  const sums = new Map()
  for (const reward of rewards) {
    const name = reward.currency ?? reward.itemId
    sums.set(name, { ...reward, amount: (sums.get(name)?.amount ?? 0n) + reward.amount })
  }
  if (sums.size > 0) log(`You got ${[...sums.values()].map(amountOf).join(', ')}`)
}

let timer

/** Shown for a moment, and read out. */
export function celebrate(text) {
  parts.toast.textContent = text
  parts.toast.classList.add('seen')
  clearTimeout(timer)
  timer = setTimeout(() => parts.toast.classList.remove('seen'), TOAST_MS)
}

/** Shows an error, or a "no" of the game. It stays until the player presses a button. */
export function alert(text) {
  parts.alert.textContent = text
}

const nameOf = (itemId) => itemId.replaceAll('-', ' ')
const amountOf = ({ amount, currency, itemId }) => (currency ? `${number.format(amount)} ${currency}` : nameOf(itemId))

function element(name, properties = {}, children = []) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}
