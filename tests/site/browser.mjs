// Open pages in Chromium as on a desk, on a phone and in the dark, and print what is wrong with them.
//
// node browser.mjs CHROMIUM PICTURES ADDRESS…
//
// PICTURES is a folder for screenshots, or -. The answer is a JSON list. playwright-core and axe-core lie in
// node_modules of the current folder. An address that ends in ?search=TEXT must find a page for that text.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
const require = createRequire(`${process.cwd()}/`);
const { chromium } = require('playwright-core');
const axe = require.resolve('axe-core/axe.min.js');
const [, , program, pictures, ...addresses] = process.argv;
const views = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
};
const wrong = [];
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
for (const [view, options] of Object.entries(views)) {
  const context = await browser.newContext({ ...options, bypassCSP: true });
  for (const [number, address] of addresses.entries()) {
    const page = await context.newPage();
    const say = (what, where = '') => wrong.push({ view, address, what, where });
    page.on('pageerror', (error) => say(`script: ${error.message}`));
    page.on('request', (one) => {
      const { hostname, protocol } = new URL(one.url());
      if (protocol.startsWith('http') && hostname !== 'localhost') say('loads from elsewhere', one.url());
    });
    await page.goto(address, { waitUntil: 'networkidle' });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) say(`${wide} px wider than the screen`);
    await page.addScriptTag({ path: axe });
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    for (const { id, impact, nodes } of violations) {
      if (['serious', 'critical'].includes(impact)) say(`${impact}: ${id} (${nodes.length})`, nodes[0].html.slice(0, 200));
    }
    const wanted = new URL(address).searchParams.get('search');
    if (wanted !== null) await search(page, wanted, say);
    else if (view === 'desktop') await byKeyboard(page, say);
    if (pictures !== '-') await page.screenshot({ path: `${pictures}/${view}-${number}.png` });
    await page.close();
  }
  await context.close();
}
await browser.close();
console.log(JSON.stringify(wrong, null, 1));

// Every place that Tab reaches must show that it is there.
async function byKeyboard(page, say) {
  await page.evaluate(() => { scrollTo(0, 0); document.activeElement.blur(); });
  const met = new Set();
  for (let presses = 0; presses < 40; presses += 1) {
    await page.keyboard.press('Tab');
    const now = await page.evaluate(() => {
      const at = document.activeElement;
      if (!at || at === document.body) return null;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      return {
        name: at.outerHTML.slice(0, 150),
        marked: (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none',
        there: box.width > 0 && box.height > 0,
      };
    });
    if (!now) break;
    met.add(now.name);
    if (!now.marked || !now.there) say('keyboard: the place is not to be seen', now.name);
  }
  const places = await page.locator('a[href], button, summary, input, [tabindex="0"]').count();
  if (met.size === 0 && places > 0) say('keyboard: Tab reaches nothing');
}

// By keyboard alone: "s" opens the search, and Enter on the first result opens its page.
async function search(page, wanted, say) {
  await page.keyboard.press('s');
  await page.waitForSelector('#mkdocs-search-query:visible');
  await page.waitForTimeout(500);
  await page.keyboard.type(wanted, { delay: 5 });
  try {
    await page.waitForSelector('#mkdocs-search-results a', { timeout: 15000 });
  } catch {
    return say('the search finds nothing', wanted);
  }
  const found = await page.$$eval('#mkdocs-search-results a', (links) => links.slice(0, 3).map((one) => one.href));
  if (!found.some((one) => one.includes('/issues/'))) say('the search finds no issue', found.join(' '));
}
