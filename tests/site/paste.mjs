// Paste a text into the page "Paste your error" in Chromium, and print what comes back.
//
// node paste.mjs CHROMIUM ADDRESS TEXT…   playwright-core lies in node_modules of the current folder
import { createRequire } from 'node:module';
const require = createRequire(`${process.cwd()}/`);
const { chromium } = require('playwright-core');
const [, , program, address, ...texts] = process.argv;
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
const page = await (await browser.newContext()).newPage();
const elsewhere = [];
page.context().on('request', (one) => {
  const { hostname, protocol } = new URL(one.url());
  if (protocol.startsWith('http') && hostname !== 'localhost') elsewhere.push(one.url());
});
await page.goto(address);
const answers = [];
for (const text of texts) {
  await page.fill('#paste-text', text);
  const begun = Date.now();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    () => !document.getElementById('paste-go').disabled && document.getElementById('paste-state').textContent,
    null,
    { timeout: 200000 },
  );
  const summary = await page.textContent('#paste-state');
  const shown = await page.isVisible('#paste-report');
  const report = shown ? await page.frameLocator('#paste-report').locator('main').innerText() : '';
  answers.push({ summary, report, seconds: (Date.now() - begun) / 1000 });
}
if (process.env.DOCTOR_PICTURES) await page.screenshot({ path: `${process.env.DOCTOR_PICTURES}/paste.png`, fullPage: true });
await browser.close();
console.log(JSON.stringify({ elsewhere, answers }));
